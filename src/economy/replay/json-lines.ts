import { createReadStream } from "node:fs";

/** One line of a JSONL file. Blank lines are left out. */
export type JsonLine =
	| { readonly kind: "value"; readonly value: unknown }
	/** It is not JSON: cut off, overwritten or never whole. */
	| { readonly kind: "damaged" }
	/** It has more bytes than the bound, and was passed over without being kept. */
	| { readonly kind: "too-long" };

/** Bounds and progress of reading a JSONL file. */
export interface JsonLinesOptions {
	/** The longest line that is parsed, in bytes. */
	readonly maxLineBytes: number;
	/** Told now and then how many bytes have been read. */
	readonly onProgress?: (bytes: number) => void;
}

const NEWLINE = 0x0a;
const CHUNK_BYTES = 1024 * 1024;

/** Reads a JSONL file line by line; holds one line at a time, however large the file is. */
export async function* readJsonLines(
	path: string,
	{ maxLineBytes, onProgress }: JsonLinesOptions,
): AsyncGenerator<JsonLine> {
	let pieces: Buffer[] = [];
	let length = 0;
	let bytes = 0;
	for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES })) {
		const buffer = chunk as Buffer;
		let from = 0;
		for (let at = buffer.indexOf(NEWLINE); at !== -1; at = buffer.indexOf(NEWLINE, from)) {
			take(buffer.subarray(from, at));
			const line = finish();
			if (line) yield line;
			from = at + 1;
		}
		take(buffer.subarray(from));
		bytes += buffer.length;
		onProgress?.(bytes);
	}
	const last = finish();
	if (last) yield last;

	function take(piece: Buffer): void {
		length += piece.length;
		if (length <= maxLineBytes) pieces.push(piece);
		else pieces = []; // of a line that is too long, only its length is kept
	}

	function finish(): JsonLine | undefined {
		const line = length > maxLineBytes ? ({ kind: "too-long" } as const) : parse(pieces);
		pieces = [];
		length = 0;
		return line;
	}
}

function parse(pieces: readonly Buffer[]): JsonLine | undefined {
	const text = (pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces))
		.toString()
		.trim(); // which takes a byte order mark with it
	if (text === "") return undefined;
	try {
		return { kind: "value", value: JSON.parse(text) };
	} catch {
		return { kind: "damaged" }; // the caller counts it; what a broken line meant cannot be known
	}
}
