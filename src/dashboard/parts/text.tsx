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
