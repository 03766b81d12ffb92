import { useMemo, useState } from "preact/hooks";
import { Dialog } from "./dialog.tsx";
import { PictureCanvas } from "./picture-canvas.tsx";
import { type Picture, pictureFacts } from "./picture-facts.ts";
import type { PictureSize } from "./picture-size.ts";
import { PlainText } from "./text.tsx";

interface PictureViewProps {
	picture: Picture;
	/** Shows it as large as the page allows. */
	onOpen(): void;
	/** Gets what the server has left out. */
	onLoad(): void;
}

/** How wide a picture is among words, and how wide in a dialog of its own: as it is, or as the room allows. */
const small = ({ width, height }: PictureSize) =>
	`${Math.min(width, 420, (240 * width) / height)}px`;
const large = ({ width, height }: PictureSize) =>
	`min(${width}px, 100%, ${width / height} * (100dvh - 160px))`;

/** A picture among words: small, and larger when it is chosen. What cannot or must not be drawn is told in words. */
export function PictureView({ picture, onOpen, onLoad }: PictureViewProps) {
	const facts = useMemo(() => pictureFacts(picture), [picture]);
	const [isWanted, setWanted] = useState(false);
	const isDrawn = facts.kind === "drawable" && (isWanted || !facts.isLarge);
	if (isDrawn) {
		const { size, words } = facts;
		return (
			<button type="button" class="picture" title="Show it larger" onClick={onOpen}>
				<PictureCanvas picture={picture} words={words} size={size} width={small(size)} />
			</button>
		);
	}
	return (
		<p class="picture-words small soft">
			<PlainText text={facts.words} most={200} />{" "}
			{facts.kind === "drawable" && (
				<button type="button" class="small" onClick={() => setWanted(true)}>
					Show
				</button>
			)}
			{facts.kind === "unsent" && (
				<button type="button" class="small" onClick={onLoad}>
					Load
				</button>
			)}
		</p>
	);
}

/** A picture as large as the page allows. */
export function PictureDialog({ picture, onClose }: { picture: Picture; onClose(): void }) {
	const facts = useMemo(() => pictureFacts(picture), [picture]);
	if (facts.kind !== "drawable") return null;
	const { size, words } = facts;
	return (
		<Dialog title={words} onCancel={onClose} wide>
			<div class="picture-large">
				<PictureCanvas picture={picture} words={words} size={size} width={large(size)} />
			</div>
			<div class="dialog-actions">
				<button type="button" onClick={onClose}>
					Close
				</button>
			</div>
		</Dialog>
	);
}
