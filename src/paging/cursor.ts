import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { hashBytes } from "../core/hash.ts";
import { splitsPair } from "./chunk.ts";
import { PagingError, truncate } from "./errors.ts";

declare const digestBrand: unique symbol;

/** The first 96 bits of a sha256 in base64url (16 characters). Made by {@link digest}. */
export type Digest = string & { readonly [digestBrand]: true };

/** Where to continue. `char` counts UTF-16 units from 0, in the text or in the PDF's `page` (from 1). */
export type Position =
	| { readonly kind: "text"; readonly char: number }
	| { readonly kind: "pdf"; readonly page: number; readonly char: number };

export interface Cursor {
	/** Digest of the normalised address, the reader's root and the extractor's version. */
	readonly resource: Digest;
	/** Digest of the extracted text; for a PDF, of its bytes. */
	readonly content: Digest;
	readonly position: Position;
}

export function digest(value: string | Uint8Array): Digest {
	const hash = Buffer.from(hashBytes(value), "hex");
	return hash.toString("base64url", 0, DIGEST_BYTES) as Digest;
}

/** Like {@link digest}, but for large texts: yields to the event loop between slices. */
export async function digestInSlices(text: string): Promise<Digest> {
	const hash = createHash("sha256");
	for (let at = 0, end = 0; at < text.length; at = end) {
		if (at > 0) await setImmediate();
		end = Math.min(at + SLICE_CHARS, text.length);
		if (splitsPair(text, end)) end++;
		hash.update(text.slice(at, end));
	}
	return hash.digest().toString("base64url", 0, DIGEST_BYTES) as Digest;
}

const SLICE_CHARS = 1024 * 1024;

/** Encodes a cursor as 48 URL-safe characters, deterministically. */
export function encodeCursor({ resource, content, position }: Cursor): string {
	const bytes = Buffer.alloc(TOKEN_BYTES);
	bytes.writeUInt8(VERSION, VERSION_AT);
	writeDigest(bytes, resource, RESOURCE_AT);
	writeDigest(bytes, content, CONTENT_AT);
	const page = position.kind === "pdf" ? position.page : TEXT_PAGE;
	const isPosition = Number.isInteger(position.char) && Number.isInteger(page);
	if (!isPosition || (position.kind === "pdf" && page === TEXT_PAGE)) {
		throw new RangeError(`Not a position: ${JSON.stringify(position)}`);
	}
	// Both calls throw if the value is negative or too large.
	bytes.writeUIntBE(page, PAGE_AT, CHAR_AT - PAGE_AT);
	bytes.writeUInt32BE(position.char, CHAR_AT);
	checksum(bytes).copy(bytes, CHECKSUM_AT);
	return bytes.toString("base64url");
}

/** Throws `cursor_malformed`. The caller must check that the cursor belongs to the resource. */
export function decodeCursor(token: string): Cursor {
	// Callers without type checks may pass any value.
	if (typeof token !== "string")
		throw malformed(`a cursor is a string, this one is ${typeof token}`);
	const shown = JSON.stringify(truncate(token, 64));
	// 48 characters leave base64url no spare bits, so each byte sequence has only one token.
	if (!/^[\w-]{48}$/.test(token)) {
		throw malformed(`a cursor has 48 letters, digits, "-" or "_", this one is ${shown}`);
	}
	const bytes = Buffer.from(token, "base64url");
	if (!checksum(bytes).equals(bytes.subarray(CHECKSUM_AT))) {
		throw malformed(`${shown} is not a cursor that was issued`);
	}
	if (bytes.readUInt8(VERSION_AT) !== VERSION) {
		throw malformed(`${shown} was made by another version`);
	}
	const page = bytes.readUIntBE(PAGE_AT, CHAR_AT - PAGE_AT);
	const char = bytes.readUInt32BE(CHAR_AT);
	return {
		resource: readDigest(bytes, RESOURCE_AT),
		content: readDigest(bytes, CONTENT_AT),
		position: page === TEXT_PAGE ? { kind: "text", char } : { kind: "pdf", page, char },
	};
}

/** Version of the cursor format. Raise it when the meaning of a position or digest changes. */
const VERSION = 1;
const DIGEST_BYTES = 12;

// Byte layout: version, resource, content, page (0 for a text), character, checksum.
const VERSION_AT = 0;
const RESOURCE_AT = 1;
const CONTENT_AT = RESOURCE_AT + DIGEST_BYTES;
const PAGE_AT = CONTENT_AT + DIGEST_BYTES;
const CHAR_AT = PAGE_AT + 3;
const CHECKSUM_AT = CHAR_AT + 4;
const TOKEN_BYTES = CHECKSUM_AT + 4;
const TEXT_PAGE = 0;

function writeDigest(bytes: Buffer, value: Digest, at: number): void {
	const written = bytes.write(value, at, DIGEST_BYTES, "base64url");
	if (written !== DIGEST_BYTES || readDigest(bytes, at) !== value) {
		throw new TypeError(`"${value}" is not a digest`);
	}
}

function readDigest(bytes: Buffer, at: number): Digest {
	return bytes.toString("base64url", at, at + DIGEST_BYTES) as Digest;
}

/** Detects a model's typing errors, but not forgery. */
function checksum(bytes: Buffer): Buffer {
	return Buffer.from(hashBytes(bytes.subarray(0, CHECKSUM_AT)).slice(0, 8), "hex");
}

function malformed(reason: string): PagingError {
	const advice = "Repeat the cursor exactly as given, or leave it out to read from the beginning.";
	return new PagingError("cursor_malformed", `Malformed cursor: ${reason}. ${advice}`);
}

export function invalidPosition(where: "text" | "document"): PagingError {
	const message = `the cursor is outside this ${where}: read without a cursor`;
	return new PagingError("cursor_malformed", message);
}
