import { property } from "../core/property.ts";

/** The provider's name of what is asked for. */
export const EDIT = "clear_tool_uses_20250919";

/** How many results the provider says it cleared; `undefined` if the event is not about that. */
export function clearedIn(event: unknown): number | undefined {
	const management =
		property(event, "context_management") ??
		property(property(event, "message"), "context_management");
	const edits = property(management, "applied_edits");
	if (!Array.isArray(edits)) return undefined;
	return edits
		.filter((edit) => property(edit, "type") === EDIT)
		.reduce((sum, edit) => sum + Number(property(edit, "cleared_tool_uses")), 0);
}
