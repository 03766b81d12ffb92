import type { ComponentChildren } from "preact";
import { useContext, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { short } from "./figures.ts";
import { type Bounds, excerpt, placeIn, reaching, Sought } from "./sought.ts";
import { PlainText } from "./text.tsx";
import { clipped } from "./visible-text.ts";

interface ClippedTextProps {
	text: string;
	/** How much is shown at first, and by how much more at a time. */
	first: Bounds;
	more: Bounds;
	/** Draws what is shown. */
	children(shown: string): ComponentChildren;
}

/** The beginning of a long text, up to what the reader looks for in it, and more of it when asked for. */
export function ClippedText({ text, first, more, children }: ClippedTextProps) {
	const [chosen, setBounds] = useState(first);
	const sought = useContext(Sought);
	const place = useMemo(() => placeIn(text, sought), [text, sought]);
	const bounds = reaching(text, place, chosen);
	useLayoutEffect(() => {
		// What was shown for a search stays when the search ends.
		if (bounds !== chosen) setBounds(bounds);
	});
	const { text: shown, rest } = clipped(text, bounds);
	const far = excerpt(text, place);
	return (
		<>
			{children(shown)}
			{far !== undefined && (
				<p class="excerpt">
					… <PlainText text={far} /> …
				</p>
			)}
			{rest > 0 && (
				<button
					type="button"
					class="quiet small"
					onClick={() =>
						setBounds({ most: bounds.most + more.most, lines: bounds.lines + more.lines })
					}
				>
					Show more ({short(rest)} characters left)
				</button>
			)}
		</>
	);
}
