/**
 * A text that the grammar understands better, with the same offsets. The frames of macros that hold items under a condition are
 * blanked, so that the items are seen: `cfg_rt! { … }`, and the branches of `cfg_if! { … }`. They are found by their indentation.
 * `try!` of Rust 2015 gets a name that is no keyword.
 */
export function parsable(source: string): string {
	const plain = source.includes("try!") ? source.replace(/\btry!/g, "tri!") : source;
	if (!plain.includes("cfg_")) return plain;
	const lines = plain.split("\n");
	let left = MAX_LOOKED_AT;
	for (let at = 0; at < lines.length && left > 0; at++) {
		const [opener, indent = "", name] = OPENER.exec(lines[at] ?? "") ?? [];
		if (opener === undefined) continue;
		let end = at + 1;
		while (end < lines.length && lines[end]?.trimEnd() !== `${indent}}` && left-- > 0) end++;
		if (lines[end]?.trimEnd() !== `${indent}}`) continue;
		blank(lines, at);
		blank(lines, end);
		if (name === "cfg_if") blankBranches(lines, at + 1, end);
	}
	return lines.join("\n");
}

const OPENER = /^([ \t]*)(cfg_\w+)![ \t]*\{\s*$/;
/** Bounds the work: each search for an end can take the whole text. */
const MAX_LOOKED_AT = 1_000_000;

function blankBranches(lines: string[], from: number, to: number): void {
	const indent = /^[ \t]*/.exec(lines[from] ?? "")?.[0] ?? "";
	for (let at = from; at < to; at++) {
		const line = lines[at] ?? "";
		if (line.startsWith(indent) && BRANCH.test(line.slice(indent.length))) blank(lines, at);
	}
}

/** `if #[cfg(a)] {`, `} else if #[cfg(b)] {`, `} else {`, `}` */
const BRANCH = /^(?:\}|(?:\} else )?(?:if #\[.*\] )?\{)\s*$/;

function blank(lines: string[], at: number): void {
	lines[at] = (lines[at] ?? "").replace(/\S/g, " ");
}
