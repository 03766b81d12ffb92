import { PIN_ENTRY } from "../core/entry-types.ts";
import { property } from "../core/property.ts";
import type { ContextItem, ToolResultItem } from "../session/index.ts";

/** What an entry of the type {@link PIN_ENTRY} says: the result of this call is pinned from here on, or no longer. */
export interface PinEntry {
	readonly toolCallId: string;
	readonly pinned: boolean;
}

/** The calls whose results are pinned: by the user's entries, latest wins, or because they are impact summaries. */
export function pinnedCalls(
	items: readonly ContextItem[],
	{ pinImpactSummaries }: { pinImpactSummaries: boolean },
): Set<string> {
	const pinned = new Set<string>();
	for (const item of items) {
		if (item.kind === "toolResult") {
			if (pinImpactSummaries && item.toolName === "kota_impact") pinned.add(item.toolCallId);
			continue;
		}
		if (item.kind !== "custom") continue;
		const pin = item.customType === PIN_ENTRY ? parsePin(item.data) : undefined;
		if (pin?.pinned) pinned.add(pin.toolCallId);
		else if (pin) pinned.delete(pin.toolCallId);
	}
	return pinned;
}

/** The result that `/kota pin` means without a name: the latest that says something, and is neither error nor stub. */
export function lastMeaningful(items: readonly ContextItem[]): ToolResultItem | undefined {
	return items.findLast(
		(item): item is ToolResultItem =>
			item.kind === "toolResult" &&
			!item.isError &&
			item.text !== undefined &&
			item.text === item.returned &&
			item.text.trim() !== "" &&
			!item.text.startsWith("[readcache: "),
	);
}

function parsePin(data: unknown): PinEntry | undefined {
	const toolCallId = property(data, "toolCallId");
	const pinned = property(data, "pinned");
	if (typeof toolCallId !== "string" || typeof pinned !== "boolean") return undefined;
	return { toolCallId, pinned };
}
