import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Button, Dialog } from "./controls.tsx";
import { bytesOf, type Picture, type PictureSize, pictureFacts } from "./picture-facts.ts";
import { PlainText } from "./text.tsx";

interface PictureViewProps {
	picture: Picture;
	onOpen(): void;
	/** Gets what the server has left out. */
	onLoad(): void;
}

/** CSS widths: among words, and in a dialog of its own. */
const small = ({ width, height }: PictureSize) =>
	`${Math.min(width, 420, (240 * width) / height)}px`;
const large = ({ width, height }: PictureSize) =>
	`min(${width}px, 100%, ${width / height} * (100dvh - 160px))`;

/** A small picture that opens a large one. What is not drawn is described. */
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
		<p class="picture-words row small soft">
			<PlainText text={facts.words} most={200} />{" "}
			{facts.kind === "drawable" && (
				<Button class="small" onClick={() => setWanted(true)} words="Show" />
			)}
			{facts.kind === "unsent" && <Button class="small" onClick={onLoad} words="Load" />}
		</p>
	);
}

export function PictureDialog({ picture, onClose }: { picture: Picture; onClose(): void }) {
	const facts = useMemo(() => pictureFacts(picture), [picture]);
	if (facts.kind !== "drawable") return null;
	const { size, words } = facts;
	return (
		<Dialog title={words} onCancel={onClose} wide>
			<div class="picture-large">
				<PictureCanvas picture={picture} words={words} size={size} width={large(size)} />
			</div>
			<div class="dialog-actions row">
				<Button onClick={onClose} words="Close" />
			</div>
		</Dialog>
	);
}

interface PictureCanvasProps {
	picture: Picture;
	words: string;
	size: PictureSize;
	width: string;
}

/** An `img` with a data address would block the page; `createImageBitmap` decodes in the background. Animations stand still. */
function PictureCanvas({ picture, words, size, width }: PictureCanvasProps) {
	const canvas = useRef<HTMLCanvasElement>(null);
	const [state, setState] = useState<"waiting" | "drawn" | "damaged">("waiting");
	useEffect(() => {
		let isGone = false;
		draw(picture, size, () => (isGone ? null : canvas.current)).then(
			() => !isGone && setState("drawn"),
			() => !isGone && setState("damaged"),
		);
		return () => {
			isGone = true;
		};
	}, [picture]);
	if (state === "damaged") return <span class="small soft">{words}: damaged</span>;
	// Keeps the place, so that nothing moves when it is drawn.
	return (
		<canvas
			ref={canvas}
			role="img"
			aria-label={words}
			aria-busy={state === "waiting"}
			style={{ width, aspectRatio: `${size.width} / ${size.height}` }}
		/>
	);
}

/** Rejects when it cannot be drawn. `place` returns null when it is not shown any more. */
async function draw(
	{ mimeType, data }: Picture,
	size: PictureSize,
	place: () => HTMLCanvasElement | null,
): Promise<void> {
	const bytes = await bytesOf(data, () => new Promise((resolve) => setTimeout(resolve)));
	const shown = place();
	if (!shown) return;
	if (!bytes) throw new Error("not base64");
	const points = Math.ceil(shown.clientWidth * Math.min(devicePixelRatio, 2));
	const bitmap = await createImageBitmap(new Blob([bytes], { type: mimeType }), {
		resizeWidth: Math.max(1, Math.min(points, size.width)),
		resizeQuality: "high",
	});
	const canvas = place();
	if (!canvas) return bitmap.close();
	canvas.width = bitmap.width;
	canvas.height = bitmap.height;
	// The picture of a camera may be rotated.
	canvas.style.aspectRatio = `${bitmap.width} / ${bitmap.height}`;
	canvas.getContext("bitmaprenderer")?.transferFromImageBitmap(bitmap);
}
