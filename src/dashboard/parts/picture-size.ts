/** How many points a picture has. */
export interface PictureSize {
	width: number;
	height: number;
}

/**
 * Reads from the first bytes of a picture how large it is, without decoding it. Undefined when the bytes are not what the
 * type says, or when the size is not among them.
 */
export function pictureSize(mimeType: string, bytes: Uint8Array): PictureSize | undefined {
	const size = READERS.get(mimeType)?.(new DataView(bytes.buffer, bytes.byteOffset, bytes.length));
	return size && size.width > 0 && size.height > 0 ? size : undefined;
}

/** The types that are drawn. SVG is none of them: it is a program as much as a picture. */
export function isPictureType(mimeType: string): boolean {
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
