import {
	brotliDecompressSync,
	constants,
	gunzipSync,
	inflateRawSync,
	inflateSync,
	zstdDecompressSync,
} from "node:zlib";

/** More decoded bytes are not looked at. */
const MAX_DECODED_BYTES = 64 * 1024 * 1024;

/** No client applies more encodings than this. */
const MAX_ENCODINGS = 3;

type Decoder = (bytes: Uint8Array, maxOutputLength: number) => Buffer;

// A flush at the end, instead of a finish, accepts a cut body up to its last whole block.
const ZLIB = { finishFlush: constants.Z_SYNC_FLUSH };

const DECODERS: Readonly<Record<string, Decoder>> = {
	identity: (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
	gzip: (bytes, maxOutputLength) => gunzipSync(bytes, { ...ZLIB, maxOutputLength }),
	deflate(bytes, maxOutputLength) {
		// Some servers omit the zlib header, whose first byte has the method 8.
		const hasHeader = ((bytes[0] ?? 0) & 0x0f) === 8;
		const inflate = hasHeader ? inflateSync : inflateRawSync;
		return inflate(bytes, { ...ZLIB, maxOutputLength });
	},
	br: (bytes, maxOutputLength) =>
		brotliDecompressSync(bytes, {
			finishFlush: constants.BROTLI_OPERATION_FLUSH,
			maxOutputLength,
		}),
	zstd: (bytes, maxOutputLength) =>
		zstdDecompressSync(bytes, { finishFlush: constants.ZSTD_e_flush, maxOutputLength }),
};

/** Decodes a body by its `content-encoding`; `undefined` if it is unknown, damaged or too large. */
export function decodeBody(
	bytes: Uint8Array,
	encoding = "identity",
	maxBytes = MAX_DECODED_BYTES,
): Buffer | undefined {
	const names = encoding.toLowerCase().split(",");
	if (names.length > MAX_ENCODINGS) return undefined;
	try {
		let decoded: Uint8Array = bytes;
		// The last encoding was applied last.
		for (const name of names.reverse()) {
			const decoder = DECODERS[name.trim().replace(/^x-/, "") || "identity"];
			if (!decoder || decoded.byteLength > maxBytes) return undefined;
			decoded = decoder(decoded, maxBytes);
		}
		const isWithin = decoded.byteLength <= maxBytes;
		return isWithin ? DECODERS.identity?.(decoded, maxBytes) : undefined;
	} catch {
		return undefined; // damaged, or more than `maxBytes`
	}
}

/** Small bodies fit in memory whatever they hold. */
const CHECKED_BYTES = 8 * 1024 * 1024;
/** Real bodies are mostly text. Two million values take some 200 MB once parsed. */
const MAX_VALUES = 2_000_000;

/**
 * Whether a body may have so many JSON values that parsing it fills the heap, which ends the whole
 * process and not only its thread. Counts what separates values, in texts too.
 */
export function isDense(body: Uint8Array): boolean {
	if (body.byteLength <= CHECKED_BYTES) return false;
	let values = 0;
	for (const byte of body) {
		if (byte === COMMA || byte === OPEN_ARRAY || byte === OPEN_OBJECT) values++;
	}
	return values > MAX_VALUES;
}

const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const OPEN_OBJECT = 0x7b;
