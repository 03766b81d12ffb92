import type { Cost } from "../../../protocol/index.ts";

/** What the bill of pi alone stands for, in words; it is imagined, so it says where it goes too far. */
export function piAloneNote(
	totals: Pick<Cost["totals"], "requests" | "appendOnlyOverLimit">,
): string {
	const meaning =
		"Pi alone: the same requests, append-only, with what markers, diffs and stubs stand for still in them.";
	const { requests, appendOnlyOverLimit: over = 0 } = totals;
	if (over === 0) return meaning;
	return `${meaning} ${over} of the ${requests} would have been past the point where pi compacts; that is not counted.`;
}
