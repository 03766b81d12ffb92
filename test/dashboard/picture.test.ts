import { describe, expect, test } from "vitest";
import { pictureFacts, pictureSize } from "../../src/dashboard/parts/picture.tsx";
import { fc } from "../support/property.ts";
import { pngOf } from "./pictures.ts";

const TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

const latin = (text: string) => [...text].map((letter) => letter.charCodeAt(0));
const base64 = (bytes: Uint8Array | readonly number[]) => Buffer.from(bytes).toString("base64");
const png = (width: number, height: number) => ({
	mimeType: "image/png",
	data: pngOf(width, height).toString("base64"),
});

/** A JPEG up to the segment with its size; `before` are segments that come first. */
function jpegHead(width: number, height: number, ...before: number[][]): number[] {
	const size = [height >> 8, height & 255, width >> 8, width & 255];
	return [0xff, 0xd8, ...before.flat(), 0xff, 0xc2, 0, 17, 8, ...size, 3, 0, 0, 0];
}

const segment = (marker: number, length: number) => [
	0xff,
	marker,
	(length + 2) >> 8,
	(length + 2) & 255,
	...Array<number>(length).fill(0xc0),
];

describe("the size of a picture", () => {
	test.each([
		["image/png", [...pngOf(7, 300)], { width: 7, height: 300 }],
		["image/gif", [...latin("GIF89a"), 44, 1, 2, 0], { width: 300, height: 2 }],
		["image/jpeg", jpegHead(640, 480), { width: 640, height: 480 }],
		[
			"image/jpeg",
			jpegHead(640, 480, segment(0xe0, 14), segment(0xe1, 60_000), segment(0xc4, 5), [0xff]),
			{ width: 640, height: 480 },
		],
		[
			"image/webp",
			[...latin("RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a"), 0x80, 0x42, 0xe0, 0x01],
			{ width: 640, height: 480 },
		],
		[
			"image/webp",
			// 639 in the lower fourteen bits, 479 in the next.
			[...latin("RIFF\0\0\0\0WEBPVP8L\0\0\0\0/"), 0x7f, 0xc2, 0x77, 0x00, 0, 0, 0, 0, 0],
			{ width: 640, height: 480 },
		],
		[
			"image/webp",
			[...latin("RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0"), 0x7f, 0x02, 0x00, 0xdf, 0x01, 0x00],
			{ width: 640, height: 480 },
		],
	])("of type %s is read from its first bytes", (mimeType, bytes, size) => {
		expect(pictureSize(mimeType, Uint8Array.from(bytes))).toEqual(size);
	});

	test("is unknown for bytes of another type, of no size, or of too few bytes", () => {
		const bytes = pngOf(5, 5);
		expect(pictureSize("image/jpeg", bytes)).toBeUndefined();
		expect(pictureSize("image/png", pngOf(0, 5))).toBeUndefined();
		expect(pictureSize("image/png", bytes.subarray(0, 20))).toBeUndefined();
		expect(pictureSize("image/svg+xml", bytes)).toBeUndefined();
	});

	test("is read, or not, whatever the bytes are", () => {
		const heads = ["", "\x89PNG\r\n\x1a\n", "GIF8", "RIFF\0\0\0\0WEBPVP8X", "\xff\xd8\xff"];
		fc.assert(
			fc.property(
				fc.constantFrom(...TYPES),
				fc.constantFrom(...heads),
				fc.uint8Array({ maxLength: 200 }),
				(mimeType, head, rest) => {
					const size = pictureSize(mimeType, Uint8Array.from([...latin(head), ...rest]));
					expect(size === undefined || (size.width > 0 && size.height > 0)).toBe(true);
				},
			),
		);
	});
});

describe("a picture of others", () => {
	test("is drawn with its type and size in words", () => {
		expect(pictureFacts(png(640, 480))).toMatchObject({
			kind: "drawable",
			size: { width: 640, height: 480 },
			isLarge: false,
			label: expect.stringMatching(/^Image, image\/png, [\d.]+ k?B, 640 × 480$/),
		});
	});

	test.each([["image/svg+xml"], ["text/html"], ["image/bmp"], ["IMAGE/PNG;x"], [""]])(
		"of type %j is not drawn",
		(mimeType) => {
			expect(pictureFacts({ ...png(5, 5), mimeType }).kind).toBe("refused");
		},
	);

	test("is not drawn when it is something else than it says", () => {
		const svg = base64(latin("<svg xmlns='http://www.w3.org/2000/svg'/>"));
		expect(pictureFacts({ mimeType: "image/png", data: svg }).kind).toBe("refused");
		expect(pictureFacts({ mimeType: "image/png", data: "not base64!" }).kind).toBe("refused");
	});

	test("is not drawn when it would fill the memory, however small it is as a file", () => {
		const bomb = pngOf(1, 1);
		bomb.writeUInt32BE(60_000, 16);
		bomb.writeUInt32BE(60_000, 20);
		const facts = pictureFacts({ mimeType: "image/png", data: base64(bomb) });
		expect(facts).toMatchObject({ kind: "refused", label: expect.stringContaining("too large") });
	});

	test("waits to be asked for when it is large", () => {
		const data = base64(Buffer.concat([pngOf(5, 5), Buffer.alloc(5_000_000)]));
		expect(pictureFacts({ mimeType: "image/png", data })).toMatchObject({
			kind: "drawable",
			isLarge: true,
			label: "Image, image/png, 5 MB, 5 × 5",
		});
	});

	test("that the server left out can be asked for", () => {
		expect(pictureFacts({ mimeType: "image/png", data: "" })).toEqual({
			kind: "unsent",
			label: "Image, image/png",
		});
	});
});
