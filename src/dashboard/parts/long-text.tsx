import { ClippedText } from "./clipped-text.tsx";
import { stretchesOf } from "./text.tsx";

const FIRST = { most: 4_000, lines: 24 };
const MORE = { most: 64_000, lines: 1_000 };

/** A long text of others in its own lines: its beginning, and more of it when asked for. */
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
