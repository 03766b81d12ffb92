import { useContext, useMemo, useState } from "preact/hooks";
import { formatCount } from "./figures.ts";
import type { DiffLine } from "./patch.ts";
import { type Syntax, type SyntaxToken, syntaxLines } from "./syntax.ts";
import { matchIndex, SearchQuery, tokenSpans } from "./text.tsx";

interface DiffProps {
	readonly lines: readonly DiffLine[];
	readonly syntax: Syntax | undefined;
	/** Lines shown at first. */
	readonly first?: number;
}

const FIRST_LINES = 40;
const MORE_LINES = 400;
/** Characters of a line that are drawn. */
const MAX_LINE = 2_000;

/** An inline diff in the colours of its syntax. Shows its beginning, and more on demand or for a search match. */
export function Diff({ lines, syntax, first = FIRST_LINES }: DiffProps) {
	const [most, setMost] = useState(first);
	const query = useContext(SearchQuery);
	const found = useMemo(
		() => lines.findIndex(({ text }) => matchIndex(text, query) !== -1),
		[lines, query],
	);
	const shown = useMemo(
		() => lines.slice(0, Math.max(most, Math.min(found + 1, most + MORE_LINES))),
		[lines, most, found],
	);
	const coloured = useMemo(() => colouredLines(shown, syntax), [shown, syntax]);
	const rest = lines.length - shown.length;
	return (
		<>
			<div class="diff" dir="ltr">
				{shown.map((line, at) => (
					<div key={at} class={`diff-line is-${line.kind}`}>
						<span class="diff-number" aria-hidden="true">
							{line.kind === "removed" ? line.oldNumber : line.newNumber}
						</span>
						<span class="diff-sign">{SIGNS[line.kind]}</span>
						<code>{tokenSpans(coloured[at] ?? [])}</code>
					</div>
				))}
			</div>
			{rest > 0 && (
				<button type="button" class="quiet small" onClick={() => setMost(most + MORE_LINES)}>
					Show more ({formatCount(rest)} lines left)
				</button>
			)}
		</>
	);
}

const SIGNS: Readonly<Record<DiffLine["kind"], string>> = {
	same: " ",
	added: "+",
	removed: "−",
	gap: "⋯",
};

/** Colours each version on its own, because a comment may begin in a line that only one of them has. */
function colouredLines(lines: readonly DiffLine[], syntax: Syntax | undefined): SyntaxToken[][] {
	const side = (hidden: DiffLine["kind"]) => {
		const own = lines.map(({ kind, text }) => (kind === hidden ? "" : text.slice(0, MAX_LINE)));
		return syntaxLines(own.join("\n"), syntax);
	};
	const before = side("added");
	const after = side("removed");
	return lines.map(({ kind }, at) => (kind === "removed" ? before : after)[at] ?? []);
}
