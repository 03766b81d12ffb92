import { pipeline, Readable, type Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";
import { PagingError, tooLarge } from "../errors.ts";
import { hasPdfHeader, isPdfType, parseMediaType } from "./content.ts";

/** All limits are in bytes. */
export interface BodyLimits {
	/** Maximum unpacked size of anything but a PDF. */
	readonly maxBytes: number;
	/** Maximum unpacked size of a PDF. */
	readonly maxPdfBytes: number;
	/** Maximum size as sent. */
	readonly maxWireBytes: number;
}

interface IncomingBody {
	readonly name: string;
	readonly stream: AsyncIterable<Buffer>;
	readonly contentType: string | undefined;
	readonly contentEncoding: string;
	readonly contentLength: string | undefined;
}

export const ACCEPT_ENCODING = "gzip, br, deflate";

/**
 * Fails if the body exceeds a limit, packed or unpacked. A truncated body is an error, and never returned
 * as a shorter text.
 */
export async function readBody(body: IncomingBody, limits: BodyLimits): Promise<Buffer> {
	const codings = codingsOf(body);
	// `Content-Length` is the unpacked size only if there is no content coding.
	const announced = codings.length === 0 ? Number(body.contentLength ?? 0) : 0;
	const least = Math.min(limits.maxBytes, limits.maxPdfBytes);
	const most = Math.max(limits.maxBytes, limits.maxPdfBytes);
	let stream = limitBytes(body.stream, body.name, limits.maxWireBytes);
	for (const coding of codings.reverse()) {
		// Every stage is limited, since a small body can unpack to endless blocks that unpack to nothing.
		stream = limitBytes(decompress(stream, coding), body.name, most);
	}
	const received = new GrowingBytes(Math.min(announced, most));
	let limit: number | undefined;
	for await (const chunk of stream) {
		received.add(chunk);
		// The first kilobyte decides which limit applies.
		if (received.size >= 1024 || received.size > least) {
			limit ??= limitFor(received.view(), body, limits);
			if (received.size > limit || announced > limit) throw tooLarge(body.name, limit);
		}
	}
	return received.take();
}

type Coding = "gzip" | "br" | "deflate";

const MAX_CODINGS = 3;

function codingsOf({ contentEncoding, name }: IncomingBody): Coding[] {
	const named = contentEncoding.toLowerCase().split(",");
	const codings = named
		.map((coding) => coding.trim())
		.filter((coding) => !/^(identity)?$/.test(coding));
	if (codings.length > MAX_CODINGS) {
		throw new PagingError("network", `${name} is compressed ${codings.length} times.`);
	}
	return codings.map((coding) => {
		if (coding === "x-gzip") return "gzip";
		if (coding === "gzip" || coding === "br" || coding === "deflate") return coding;
		// The header is untrusted text: it reaches the model only if it looks like a coding's name.
		const shown = /^[\w.-]{1,20}$/.test(coding) ? ` "${coding}"` : "";
		const message = `${name} has an unsupported content encoding${shown}; supported are ${ACCEPT_ENCODING}.`;
		throw new PagingError("network", message);
	});
}

function limitFor(start: Buffer, body: IncomingBody, limits: BodyLimits): number {
	const { type } = parseMediaType(body.contentType);
	const isPdf = isPdfType(type) || hasPdfHeader(start);
	return isPdf ? limits.maxPdfBytes : limits.maxBytes;
}

async function* limitBytes(stream: AsyncIterable<Buffer>, name: string, limit: number) {
	let size = 0;
	for await (const chunk of stream) {
		size += chunk.length;
		if (size > limit) throw tooLarge(name, limit);
		yield chunk;
	}
}

async function* decompress(stream: AsyncIterable<Buffer>, coding: Coding): AsyncGenerator<Buffer> {
	const chunks = stream[Symbol.asyncIterator]();
	const first = await chunks.next();
	// A decompressor would reject an empty body.
	if (first.done) return;
	const packed = Readable.from(prepend(first.value, chunks));
	// The callback ignores errors, since the iteration throws the errors of both streams.
	yield* pipeline(packed, decompressor(coding, first.value), () => {});
}

async function* prepend(first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
	yield first;
	yield* { [Symbol.asyncIterator]: () => rest };
}

function decompressor(coding: Coding, first: Buffer): Transform {
	if (coding === "gzip") return createGunzip();
	if (coding === "br") return createBrotliDecompress();
	// "deflate" means zlib format, but some servers send it raw; the first byte decides (RFC 1950).
	return ((first[0] ?? 0) & 0x0f) === 8 ? createInflate() : createInflateRaw();
}

/** One growing buffer. A list would cost 100 bytes per chunk, and hostile servers send one-byte chunks. */
class GrowingBytes {
	#bytes: Buffer;
	size = 0;

	constructor(expectedSize: number) {
		this.#bytes = Buffer.allocUnsafeSlow(expectedSize || 64 * 1024);
	}

	add(chunk: Buffer): void {
		const size = this.size + chunk.length;
		if (size > this.#bytes.length) {
			const larger = Buffer.allocUnsafeSlow(Math.max(size, this.#bytes.length * 2));
			this.#bytes.copy(larger, 0, 0, this.size);
			this.#bytes = larger;
		}
		chunk.copy(this.#bytes, this.size);
		this.size = size;
	}

	/** The returned view is valid until the next `add`. */
	view(): Buffer {
		return this.#bytes.subarray(0, this.size);
	}

	/** Returns the bytes in a buffer of exactly their size. */
	take(): Buffer {
		if (this.size === this.#bytes.length) return this.#bytes;
		const exact = Buffer.allocUnsafeSlow(this.size);
		this.#bytes.copy(exact, 0, 0, this.size);
		return exact;
	}
}
