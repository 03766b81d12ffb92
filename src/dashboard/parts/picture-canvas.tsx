import { useEffect, useRef, useState } from "preact/hooks";
import { bytesOf } from "./base64.ts";
import type { Picture } from "./picture-facts.ts";
import type { PictureSize } from "./picture-size.ts";

interface PictureCanvasProps {
	picture: Picture;
	/** What it is, for those who do not see it. */
	words: string;
	size: PictureSize;
	/** How wide it is drawn, as CSS says it. */
	width: string;
}

/**
 * Draws a picture of others. Not as an `img`: an address with all of its data stops the page for as long as the browser
 * reads it. Here the browser decodes beside the page and keeps no more points than it shows. What moves stands still.
 */
export function PictureCanvas({ picture, words, size, width }: PictureCanvasProps) {
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
	// Its place is as large as the picture will be, so that nothing moves when it is there.
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

/** Rejects when it cannot be drawn. `place` is where; null when nobody waits any more. */
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
	// A camera may have been held upright: then the picture is turned, and its size is not.
	canvas.style.aspectRatio = `${bitmap.width} / ${bitmap.height}`;
	canvas.getContext("bitmaprenderer")?.transferFromImageBitmap(bitmap);
}
