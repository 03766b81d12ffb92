const NOTES: ReadonlyMap<string, string> = new Map([
	["branch", "another branch"],
	["edit", "an earlier message changed"],
	["compaction", "compacted"],
	["partial", "its start was not observed"],
]);

/** How a request departs from its conversation, for users; `undefined` if it starts or continues it. */
export function stepNote(step: string): string | undefined {
	return NOTES.get(step);
}
