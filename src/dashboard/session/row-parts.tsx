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
