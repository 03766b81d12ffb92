import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Button } from "./controls.tsx";
import { Dialog } from "./dialog.tsx";
import { bytes } from "./figures.ts";
import { PlainText } from "./text.tsx";

interface PictureViewProps {
	readonly picture: Picture;
	onOpen(): void;
	onLoad(): void;
}

/** CSS widths of a picture: `small` in the conversation, `large` in a dialog. */
const small = ({ width, height }: PictureSize) =>
	`${Math.min(width, 420, (240 * width) / height)}px`;
const large = ({ width, height }: PictureSize) =>
	`min(${width}px, 100%, ${width / height} * (100dvh - 160px))`;

/** A small picture that opens the large one, or a text that says why the picture is not drawn. */
export function PictureView({ picture, onOpen, onLoad }: PictureViewProps) {
	const facts = useMemo(() => pictureFacts(picture), [picture]);
	const [isWanted, setWanted] = useState(false);
	if (facts.kind === "drawable" && (isWanted || !facts.isLarge)) {
		return (
			<button type="button" class="picture" title="Enlarge" onClick={onOpen}>
				<PictureCanvas picture={picture} facts={facts} widthOf={small} />
			</button>
		);
	}
	return (
		<p class="picture-text row small soft">
			<PlainText text={facts.label} max={200} />{" "}
			{facts.kind === "drawable" && (
				<Button class="small" onClick={() => setWanted(true)} label="Show" />
			)}
			{facts.kind === "unsent" && <Button class="small" onClick={onLoad} label="Load" />}
		</p>
	);
}

export function PictureDialog({ picture, onClose }: { picture: Picture; onClose(): void }) {
	const facts = useMemo(() => pictureFacts(picture), [picture]);
	if (facts.kind !== "drawable") return null;
	return (
		<Dialog title={facts.label} onCancel={onClose} wide>
			<div class="picture-large">
				<PictureCanvas picture={picture} facts={facts} widthOf={large} />
			</div>
			<div class="dialog-actions row">
				<Button onClick={onClose} label="Close" />
			</div>
		</Dialog>
	);
}

interface PictureCanvasProps {
	readonly picture: Picture;
	readonly facts: Extract<PictureFacts, { kind: "drawable" }>;
	widthOf(size: PictureSize): string;
}

/** Decodes in the background (`createImageBitmap`); an `img` with a data URL would block. No animation. */
function PictureCanvas({ picture, facts: { label, size }, widthOf }: PictureCanvasProps) {
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
	if (state === "damaged") return <span class="small soft">{label}: the data is damaged</span>;
	// The canvas reserves its space, so that nothing moves when the picture is drawn.
	return (
		<canvas
			ref={canvas}
			role="img"
			aria-label={label}
			aria-busy={state === "waiting"}
			style={{ width: widthOf(size), aspectRatio: `${size.width} / ${size.height}` }}
		/>
	);
}

/** Rejects if the picture cannot be drawn. `place` returns null after the canvas was removed. */
async function draw(picture: Picture, size: PictureSize, place: () => HTMLCanvasElement | null) {
	const bytes = await bytesOf(picture.data, () => new Promise((resolve) => setTimeout(resolve)));
	const shown = place();
	if (!shown) return;
	if (!bytes) throw new Error("not base64");
	const points = Math.ceil(shown.clientWidth * Math.min(devicePixelRatio, 2));
	const bitmap = await createImageBitmap(new Blob([bytes], { type: picture.mimeType }), {
		resizeWidth: Math.max(1, Math.min(points, size.width)),
		resizeQuality: "high",
	});
	const canvas = place();
	if (!canvas) return bitmap.close();
	canvas.width = bitmap.width;
	canvas.height = bitmap.height;
	// The bitmap's ratio may differ from that of `size`, because a camera's picture may be rotated.
	canvas.style.aspectRatio = `${bitmap.width} / ${bitmap.height}`;
	canvas.getContext("bitmaprenderer")?.transferFromImageBitmap(bitmap);
}

export interface Picture {
	readonly mimeType: string;
	/** Base64; empty if the server has left the picture out. */
	readonly data: string;
}

type PictureFacts =
	| { kind: "drawable"; size: PictureSize; label: string; isLarge: boolean }
	| { kind: "unsent"; label: string }
	| { kind: "refused"; label: string };

/** Pictures of more than this many bytes are drawn only on demand. */
const LARGE_BYTES = 4_000_000;
/** Maximum number of pixels of a picture that is drawn. Each decoded pixel takes four bytes. */
const MAX_PIXELS = 60_000_000;
/** The size must be within this many characters of base64. Cameras write long metadata before it. */
const HEAD_CHARS = 400_000;

export function pictureFacts({ mimeType, data }: Picture): PictureFacts {
	if (!READERS.has(mimeType)) {
		return { kind: "refused", label: `Image, ${mimeType || "unknown type"}: cannot be displayed` };
	}
	if (data === "") return { kind: "unsent", label: `Image, ${mimeType}` };
	const count = byteCount(data);
	const label = `Image, ${mimeType}, ${bytes(count)}`;
	const head = firstBytes(data, HEAD_CHARS);
	const size = head && pictureSize(mimeType, head);
	if (!size) return { kind: "refused", label: `${label}: damaged, or another type of file` };
	const whole = `${label}, ${size.width} × ${size.height}`;
	if (size.width * size.height > MAX_PIXELS) {
		return { kind: "refused", label: `${whole}: too large to display` };
	}
	return { kind: "drawable", size, label: whole, isLarge: count > LARGE_BYTES };
}

type PictureSize = { readonly width: number; readonly height: number };

/** Reads the size from a file's first bytes. Undefined if they are of another type or end before the size. */
export function pictureSize(mimeType: string, bytes: Uint8Array): PictureSize | undefined {
	const size = READERS.get(mimeType)?.(new DataView(bytes.buffer, bytes.byteOffset, bytes.length));
	return size && size.width > 0 && size.height > 0 ? size : undefined;
}

/** Readers of a picture's size, by MIME type. Other types are not drawn: SVG, for one, may hold scripts. */
const READERS: ReadonlyMap<string, (bytes: DataView) => PictureSize | undefined> = new Map([
	["image/png", png],
	["image/gif", gif],
	["image/webp", webp],
	["image/jpeg", jpeg],
]);

function png(bytes: DataView): PictureSize | undefined {
	if (bytes.byteLength < 24 || !startsWith(bytes, 0, "\x89PNG\r\n\x1a\n")) return undefined;
	return { width: bytes.getUint32(16), height: bytes.getUint32(20) };
}

function gif(bytes: DataView): PictureSize | undefined {
	if (bytes.byteLength < 10 || !startsWith(bytes, 0, "GIF8")) return undefined;
	return { width: bytes.getUint16(6, true), height: bytes.getUint16(8, true) };
}

function webp(bytes: DataView): PictureSize | undefined {
	if (bytes.byteLength < 30 || !startsWith(bytes, 0, "RIFF") || !startsWith(bytes, 8, "WEBP")) {
		return undefined;
	}
	if (startsWith(bytes, 12, "VP8 ")) {
		// The upper two bits hold a scaling factor.
		const side = (at: number) => bytes.getUint16(at, true) & 0x3fff;
		return { width: side(26), height: side(28) };
	}
	if (startsWith(bytes, 12, "VP8L")) {
		const bits = bytes.getUint32(21, true);
		return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
	}
	if (!startsWith(bytes, 12, "VP8X")) return undefined;
	return {
		width: (bytes.getUint32(24, true) & 0xff_ffff) + 1,
		height: (bytes.getUint32(26, true) >>> 8) + 1,
	};
}

/** JPEG is a sequence of segments, each with its length. The segment that starts a frame holds the size. */
function jpeg(bytes: DataView): PictureSize | undefined {
	if (!startsWith(bytes, 0, "\xff\xd8\xff")) return undefined;
	let at = 2;
	while (at + 9 <= bytes.byteLength && bytes.getUint8(at) === 0xff) {
		const marker = bytes.getUint8(at + 1);
		if (isFrame(marker)) {
			return { width: bytes.getUint16(at + 7), height: bytes.getUint16(at + 5) };
		}
		// Any number of 0xff bytes may precede a marker.
		at += marker === 0xff ? 1 : 2 + bytes.getUint16(at + 2);
	}
	return undefined;
}

/** SOF0 to SOF15, without the three markers in this range that are not SOF: DHT, JPG and DAC. */
function isFrame(marker: number): boolean {
	return marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
}

function startsWith(bytes: DataView, at: number, letters: string): boolean {
	if (bytes.byteLength < at + letters.length) return false;
	return [...letters].every((letter, index) => bytes.getUint8(at + index) === letter.charCodeAt(0));
}

/** Characters of base64 decoded at once. Must be a multiple of four. */
const SLICE_CHARS = 1 << 19;

/** Decodes base64 in slices, with pauses to keep the page responsive. Undefined for invalid base64. */
export async function bytesOf(base64: string, pause: () => Promise<void>) {
	const bytes = new Uint8Array(byteCount(base64));
	let at = 0;
	for (let from = 0; from < base64.length; from += SLICE_CHARS) {
		if (from > 0) await pause();
		const slice = decoded(base64.slice(from, from + SLICE_CHARS));
		// Invalid base64, or more bytes than its length allows.
		if (slice === undefined || at + slice.length > bytes.length) return undefined;
		for (let index = 0; index < slice.length; index++) bytes[at++] = slice.charCodeAt(index);
	}
	return at === bytes.length ? bytes : undefined;
}

export function firstBytes(base64: string, chars: number): Uint8Array | undefined {
	const head = decoded(base64.slice(0, chars - (chars % 4)));
	return head === undefined ? undefined : Uint8Array.from(head, (letter) => letter.charCodeAt(0));
}

export function byteCount(base64: string): number {
	const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
	return Math.floor(((base64.length - padding) * 3) / 4);
}

function decoded(base64: string): string | undefined {
	try {
		return atob(base64);
	} catch {
		return undefined;
	}
}
