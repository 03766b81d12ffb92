import { CLEARING_ENTRY } from "../core/entry-types.ts";
import { property } from "../core/property.ts";
import type { SessionView } from "../session/index.ts";

/** What the session stores when the number of cleared results grows, or when clearing ends. */
export type ClearingState =
	| { readonly v: 1; readonly through: string; readonly results: number }
	| { readonly v: 1; readonly off: string };

/** What the branch says: the last result that is cleared, and why clearing has ended. */
export function stateOf({ ledger, sessionManager }: SessionView) {
	let through: string | undefined;
	let off: string | undefined;
	for (const item of ledger.log(sessionManager).items) {
		if (item.kind !== "custom" || item.customType !== CLEARING_ENTRY) continue;
		if (property(item.data, "v") !== 1) continue;
		const said = property(item.data, "through");
		if (typeof said === "string") through = said;
		if (property(item.data, "off") !== undefined) off = String(property(item.data, "off"));
	}
	return { through, off };
}
