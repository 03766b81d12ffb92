import { bytes } from "./figures.ts";

export interface Picture {
	readonly mimeType: string;
	/** Base64; empty where the server has left it out. */
	readonly data: string;
}

type PictureFacts =
	| { kind: "drawable"; size: PictureSize; words: string; isLarge: boolean }
	/** The server left it out of an event. */
	| { kind: "unsent"; words: string }
	| { kind: "refused"; words: string };

/** Bytes; larger ones are drawn on demand. */
const LARGE = 4_000_000;
/** A decoded picture takes four bytes a point. */
const MOST_POINTS = 60_000_000;
/** Characters of base64 to find the size in: cameras write much before it. */
const HEAD = 400_000;

/** Decides whether an untrusted picture is drawn, and what is said of it. */
export function pictureFacts({ mimeType, data }: Picture): PictureFacts {
	if (!isPictureType(mimeType)) {
		return { kind: "refused", words: `Picture, ${mimeType || "of unknown type"}: not shown` };
	}
	if (data === "") return { kind: "unsent", words: `Picture, ${mimeType}` };
	const count = byteCount(data);
	const words = `Picture, ${mimeType}, ${bytes(count)}`;
	const head = firstBytes(data, HEAD);
	const size = head && pictureSize(mimeType, head);
	if (!size) return { kind: "refused", words: `${words}: damaged, or of another type` };
	const whole = `${words}, ${size.width} × ${size.height}`;
	if (size.width * size.height > MOST_POINTS) {
		return { kind: "refused", words: `${whole}: too large to be drawn` };
	}
	return { kind: "drawable", size, words: whole, isLarge: count > LARGE };
}

export interface PictureSize {
	width: number;
	height: number;
}

/** Reads the size from the first bytes, without decoding. Undefined when they are not of this type, or do not reach the size. */
export function pictureSize(mimeType: string, bytes: Uint8Array): PictureSize | undefined {
	const size = READERS.get(mimeType)?.(new DataView(bytes.buffer, bytes.byteOffset, bytes.length));
	return size && size.width > 0 && size.height > 0 ? size : undefined;
}

/** SVG is not drawn: it is a program as much as a picture. */
function isPictureType(mimeType: string): boolean {
	return READERS.has(mimeType);
}

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
		// The upper two bits are for scaling.
		return {
			width: bytes.getUint16(26, true) & 0x3fff,
			height: bytes.getUint16(28, true) & 0x3fff,
		};
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

/** A row of segments with their lengths; the one that starts a frame has the size. */
function jpeg(bytes: DataView): PictureSize | undefined {
	if (!startsWith(bytes, 0, "\xff\xd8\xff")) return undefined;
	let at = 2;
	while (at + 9 <= bytes.byteLength && bytes.getUint8(at) === 0xff) {
		const marker = bytes.getUint8(at + 1);
		if (isFrame(marker)) {
			return { width: bytes.getUint16(at + 7), height: bytes.getUint16(at + 5) };
		}
		// Any number of 0xff may stand before a marker.
		at += marker === 0xff ? 1 : 2 + bytes.getUint16(at + 2);
	}
	return undefined;
}

/** SOF0 to SOF15 but for three that mean something else. */
function isFrame(marker: number): boolean {
	return marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
}

function startsWith(bytes: DataView, at: number, letters: string): boolean {
	if (bytes.byteLength < at + letters.length) return false;
	return [...letters].every((letter, index) => bytes.getUint8(at + index) === letter.charCodeAt(0));
}

/** Characters decoded at once; a multiple of four. */
const SLICE = 1 << 19;

/** Decodes base64 in slices with a pause between them, so that megabytes do not block the page. Undefined when it is invalid. */
export async function bytesOf(
	base64: string,
	pause: () => Promise<void>,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
	const bytes = new Uint8Array(byteCount(base64));
	let at = 0;
	for (let from = 0; from < base64.length; from += SLICE) {
		if (from > 0) await pause();
		const slice = decoded(base64.slice(from, from + SLICE));
		// Only the last slice may end early.
		if (slice === undefined || at + slice.length > bytes.length) return undefined;
		for (let index = 0; index < slice.length; index++) bytes[at++] = slice.charCodeAt(index);
	}
	return at === bytes.length ? bytes : undefined;
}

/** The first bytes, of at most `letters` characters. Undefined when they are invalid. */
export function firstBytes(base64: string, letters: number): Uint8Array | undefined {
	const head = decoded(base64.slice(0, letters - (letters % 4)));
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
