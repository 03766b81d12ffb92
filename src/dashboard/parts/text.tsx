import { useState } from "preact/hooks";
import { short } from "./figures.ts";
import { clipped, visibleText } from "./visible-text.ts";

/** A short text of others, shown harmlessly: nothing in it is markup, hides itself or turns the line around. */
export function PlainText({ text, most = 2_000 }: { text: string; most?: number }) {
	const { text: shown, rest } = clipped(text, { most, lines: Number.POSITIVE_INFINITY });
	return (
		<bdi>
			{stretchesOf(shown)}
			{rest > 0 && "…"}
		</bdi>
	);
}

/** How much of a long text is shown at first, and by how much more at a time. */
const FIRST = { most: 4_000, lines: 24 };
const MORE = { most: 64_000, lines: 1_000 };

/** A long text of others in its own lines: its beginning, and more of it when asked for. */
export function LongText({ text, lines = FIRST.lines }: { text: string; lines?: number }) {
	const [bounds, setBounds] = useState({ most: FIRST.most, lines });
	const { text: shown, rest } = clipped(text, bounds);
	return (
		<>
			<pre class="long-text" dir="auto">
				{stretchesOf(shown)}
			</pre>
			{rest > 0 && (
				<button
					type="button"
					class="quiet small"
					onClick={() =>
						setBounds({ most: bounds.most + MORE.most, lines: bounds.lines + MORE.lines })
					}
				>
					Show more ({short(rest)} characters left)
				</button>
			)}
		</>
	);
}

/** The parts of a text as elements: what had to be written out is set apart. */
export function stretchesOf(text: string) {
	return visibleText(text).map((stretch, at) =>
		stretch.isSign ? (
			<span key={at} class="sign">
				{stretch.text}
			</span>
		) : (
			stretch.text
		),
	);
}
