import { open, readFile } from "node:fs/promises";

/** `tooLong`: the line exceeds the bound and was skipped without buffering. */
export type JsonValue = { readonly value: unknown } | "damaged" | "tooLong";

const NEWLINE = 0x0a;
const CHUNK_BYTES = 256 * 1024;

/** Holds one line at a time, whatever the file size. Blank lines are skipped. */
export async function* readJsonLines(
	path: string,
	maxLineBytes: number,
	onBytes: (bytes: number) => void,
): AsyncGenerator<JsonValue> {
	let pieces: Buffer[] = [];
	let length = 0;
	let bytes = 0;
	const handle = await open(path);
	try {
		const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
		for (;;) {
			const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, null);
			if (bytesRead === 0) break;
			const chunk = buffer.subarray(0, bytesRead);
			let from = 0;
			for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
				take(chunk.subarray(from, at));
				const line = finish();
				if (line) yield line;
				from = at + 1;
			}
			take(Buffer.from(chunk.subarray(from))); // a copy: the next chunk overwrites this one
			bytes += bytesRead;
			onBytes(bytes);
		}
	} finally {
		await handle.close();
	}
	const last = finish();
	if (last) yield last;

	function take(piece: Buffer): void {
		length += piece.length;
		if (length <= maxLineBytes) pieces.push(piece);
		else pieces = []; // too long: only the length is kept
	}

	function finish(): JsonValue | undefined {
		const line = length > maxLineBytes ? "tooLong" : parse(pieces);
		pieces = [];
		length = 0;
		return line;
	}
}

/** JSON documents one after the other, of any layout. Holds the whole file. */
export async function* readJsonDocuments(
	path: string,
	onBytes: (bytes: number) => void,
): AsyncGenerator<JsonValue> {
	const content = await readFile(path);
	const only = parse([content]); // most files have one document
	if (only !== "damaged") {
		if (only) yield only;
		onBytes(content.length);
		return;
	}
	for (let from = 0; from < content.length; ) {
		const end = documentEnd(content, from);
		const document = parse([content.subarray(from, end)]);
		if (document) yield document;
		onBytes(end);
		from = end;
	}
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** A bracket is one of `[ ] { }`; bit 0x20 tells them apart by shape, which does not matter here. */
const OPENING = 0x5b;
const CLOSING = 0x5d;
const SHAPE = 0x20;

/** Behind the bracket that closes the first one from `from` on; the end if none does. */
function documentEnd(content: Buffer, from: number): number {
	let depth = 0;
	for (let at = from; at < content.length; at++) {
		const byte = content[at] as number;
		const bracket = byte & ~SHAPE;
		if (byte === QUOTE && depth > 0) at = stringEnd(content, at);
		else if (bracket === OPENING) depth++;
		else if (bracket === CLOSING && depth > 0 && --depth === 0) return at + 1;
	}
	return content.length;
}

/** The closing quote of the string that begins at `from`. */
function stringEnd(content: Buffer, from: number): number {
	for (let at = content.indexOf(QUOTE, from + 1); at !== -1; at = content.indexOf(QUOTE, at + 1)) {
		let escapes = 0;
		while (content[at - 1 - escapes] === BACKSLASH) escapes++;
		if (escapes % 2 === 0) return at;
	}
	return content.length;
}

function parse(pieces: readonly Buffer[]): JsonValue | undefined {
	const text = (pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces))
		.toString()
		.trim(); // also removes a BOM
	if (text === "") return undefined;
	try {
		return { value: JSON.parse(text) };
	} catch {
		return "damaged"; // the caller counts it
	}
}
