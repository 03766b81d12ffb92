import type { ShownResult } from "./claude-session.ts";

const REFERENCE =
	/^(?:(\d+)\t)?\[strata: lines (\d+)-(\d+) of the output of `([^`]*)`(?: \((\w+)\))? above, unchanged(?:; full text: read (.+))?\]$/;

/** Shares no code with the engine: names a call as its documentation says. */
function nameOf({ call: { tool, input } }: ShownResult): string {
	const range = input.offset === undefined ? "" : `:${input.offset}`;
	return `${tool} ${String(input.file_path ?? input.command)}${range}`;
}

/** The text without references, in whose place stand the lines that they mean. Throws if they mean none. */
export function expanded({ text }: ShownResult, above: readonly ShownResult[]): string {
	const lines = text.split("\n").map((line) => {
		const [found, , first, last, name, id] = REFERENCE.exec(line) ?? [];
		if (found === undefined) return line;
		const base = above.findLast(
			(one) => nameOf(one) === name && (id === undefined || one.id === id),
		);
		const meant = base?.text.split("\n").slice(Number(first) - 1, Number(last)) ?? [];
		const isWhole = meant.length === Number(last) - Number(first) + 1;
		if (!isWhole || meant.some((one) => REFERENCE.test(one))) throw new Error(`dangling: ${line}`);
		return meant.join("\n");
	});
	return lines.join("\n");
}

/** Where the text says that it is stored in full. */
export function pathIn(text: string): string | undefined {
	return /(?:full text|exact output): read (.+?)\]$/m.exec(text)?.[1];
}
