import { randomBytes } from "node:crypto";
import { crc32, deflateSync } from "node:zlib";

/** A PNG of this size in one colour, or of noise, which no packing makes smaller. */
export function pngOf(
	width: number,
	height: number,
	colour: readonly [number, number, number] | "noise" = [40, 110, 180],
): Buffer {
	const header = Buffer.alloc(13);
	header.writeUInt32BE(width, 0);
	header.writeUInt32BE(height, 4);
	// Eight bits each of red, green and blue.
	header.set([8, 2, 0, 0, 0], 8);
	const line =
		colour === "noise"
			? () => Buffer.concat([Buffer.of(0), randomBytes(width * 3)])
			: () => Buffer.concat([Buffer.of(0), Buffer.alloc(width * 3, Buffer.of(...colour))]);
	const points = Buffer.concat(Array.from({ length: height }, line));
	return Buffer.concat([
		Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
		chunk("IHDR", header),
		chunk("IDAT", deflateSync(points, { level: 1 })),
		chunk("IEND", Buffer.alloc(0)),
	]);
}

function chunk(name: string, data: Buffer): Buffer {
	const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
	const length = Buffer.alloc(4);
	length.writeUInt32BE(data.length);
	const sum = Buffer.alloc(4);
	sum.writeUInt32BE(crc32(body));
	return Buffer.concat([length, body, sum]);
}
