import type { ComponentProps } from "preact";
import type { Fold } from "../parts/controls.tsx";
import { type Picture, PictureView } from "../parts/picture.tsx";

/** State that is kept outside of the rows, because rows out of view are not rendered. */
export interface RowActions {
	isUnfolded(key: string): boolean;
	toggle(key: string, isOpen: boolean): void;
	showPicture(picture: Picture): void;
	/** Loads the pictures that the server left out of events. */
	reload(): void;
	/** The address of the Cost view. */
	readonly costHref: string;
	readonly hasMadeUpPrices: boolean;
}

export type FoldState = Pick<ComponentProps<typeof Fold>, "isOpen" | "onToggle">;

/** Maximum number of pictures drawn per message, because each is decoded in full. */
const MAX_PICTURES = 20;

export function Pictures({
	pictures,
	actions,
}: {
	pictures: readonly Picture[];
	actions: RowActions;
}) {
	if (pictures.length === 0) return null;
	const rest = pictures.length - MAX_PICTURES;
	return (
		<div class="pictures row">
			{pictures.slice(0, MAX_PICTURES).map((picture, at) => (
				<PictureView
					key={at}
					picture={picture}
					onOpen={() => actions.showPicture(picture)}
					onLoad={actions.reload}
				/>
			))}
			{rest > 0 && <p class="small soft">and {rest} more</p>}
		</div>
	);
}

/** What a call or command did, behind it on its folded line. */
export function Effect({ words }: { words: readonly string[] }) {
	if (words.length === 0) return null;
	return (
		<span class="small call-state number">
			{words.map((word, at) => (
				<span key={at} class={effectClass(word)}>
					<span class="call-dot" aria-hidden="true">
						{" · "}
					</span>
					{word}
				</span>
			))}
		</span>
	);
}

/** What was not sent again is good news; a failure is not. */
function effectClass(word: string): string {
	if (/not sent|changed lines? sent|folded|shown before|now a stub/.test(word)) return "good";
	return /^(failed|exit|timed out|stopped)/.test(word) ? "bad" : "";
}
