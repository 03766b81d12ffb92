import { applyUnified } from "./diff/unified.ts";
import type { FileView } from "./file-event-log.ts";
import { type LineRange, shownRange } from "./metadata.ts";

/** Whether visible texts contain the lines literally. Checks `decide`, so it shares no code with it. */
export function isInView(
	visibleViews: readonly FileView[],
	fileText: string,
	{ start, end }: LineRange,
): boolean {
	const seen = new Map<number, string>();
	for (const { meta, text } of visibleViews) {
		if (text === undefined) return false;
		if (meta.mode === "diff") {
			const patched = applied(joined(seen), text);
			seen.clear();
			if (patched !== undefined) place(seen, 1, patched.split("\n"));
		} else {
			const shown = shownRange(meta);
			place(seen, shown.start, text.split("\n").slice(0, shown.end - shown.start + 1));
		}
	}
	const lines = fileText.split("\n");
	for (let line = start; line <= end; line++) {
		if (seen.get(line) !== lines[line - 1]) return false;
	}
	return true;
}

function place(seen: Map<number, string>, first: number, lines: string[]): void {
	for (const [index, line] of lines.entries()) seen.set(first + index, line);
}

/** `undefined` if the diff was not made from `base`: the model could not apply it either. */
function applied(base: string | undefined, diffText: string): string | undefined {
	if (base === undefined) return undefined;
	try {
		return applyUnified(base, diffText.slice(diffText.indexOf("\n") + 1)); // without our header
	} catch {
		return undefined;
	}
}

function joined(seen: Map<number, string>): string | undefined {
	const lines: string[] = [];
	for (let line = 1; line <= seen.size; line++) {
		const text = seen.get(line);
		if (text === undefined) return undefined;
		lines.push(text);
	}
	return lines.join("\n");
}
