import { type ComponentChildren, createContext } from "preact";
import { useContext, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { short } from "./figures.ts";
import { clipped, visibleText } from "./visible-text.ts";

interface PlainTextProps {
	text: string;
	most?: number;
	as?: "bdi" | "b" | "code" | "strong";
	class?: string;
}

/** A short untrusted text, shown harmlessly: nothing in it is markup, hides itself or turns the line around. */
export function PlainText({ text, most = 2_000, as: Tag = "bdi", ...rest }: PlainTextProps) {
	const { text: shown, rest: left } = clipped(text, { most, lines: Number.POSITIVE_INFINITY });
	return (
		<Tag dir="auto" {...rest}>
			{stretchesOf(shown)}
			{left > 0 && "…"}
		</Tag>
	);
}

/** What had to be written out is set apart. */
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

const FIRST = { most: 4_000, lines: 24 };
const MORE = { most: 64_000, lines: 1_000 };

/** A long untrusted text: its beginning, and more on demand. */
export function LongText({ text, lines = FIRST.lines }: { text: string; lines?: number }) {
	return (
		<ClippedText text={text} first={{ ...FIRST, lines }} more={MORE}>
			{(shown) => (
				<pre class="long-text" dir="auto">
					{stretchesOf(shown)}
				</pre>
			)}
		</ClippedText>
	);
}

interface ClippedTextProps {
	text: string;
	first: Bounds;
	more: Bounds;
	children(shown: string): ComponentChildren;
}

/** The beginning of a long text, extended to a search's match, and more on demand. */
export function ClippedText({ text, first, more, children }: ClippedTextProps) {
	const [chosen, setBounds] = useState(first);
	const sought = useContext(Sought);
	const place = useMemo(() => placeIn(text, sought), [text, sought]);
	const bounds = reaching(text, place, chosen);
	useLayoutEffect(() => {
		// What a search has revealed stays.
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

/** The words that are searched for in this row, in lower case; empty in most rows. */
export const Sought = createContext("");

interface Bounds {
	most: number;
	lines: number;
}

/** A match further into a text than this is shown as an excerpt. */
const FAR = 200_000;
const MARGIN: Bounds = { most: 1_000, lines: 12 };
const AROUND = 120;

/** Case-insensitive; -1 if there is no match. */
export function placeIn(text: string, sought: string): number {
	return sought === "" ? -1 : text.toLowerCase().indexOf(sought);
}

/** Bounds that show the match; the same object if nothing changes. */
export function reaching(text: string, place: number, bounds: Bounds): Bounds {
	if (place === -1 || place > FAR) return bounds;
	let lines = 1;
	for (let at = text.indexOf("\n"); at !== -1 && at < place; at = text.indexOf("\n", at + 1))
		lines++;
	if (place + MARGIN.most <= bounds.most && lines + MARGIN.lines <= bounds.lines) return bounds;
	return {
		most: Math.max(bounds.most, place + MARGIN.most),
		lines: Math.max(bounds.lines, lines + MARGIN.lines),
	};
}

/** The surroundings of a match that is too far into a text. */
export function excerpt(text: string, place: number): string | undefined {
	if (place <= FAR) return undefined;
	return text.slice(place - AROUND, place + AROUND * 2);
}
