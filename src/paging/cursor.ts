import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { hashBytes } from "../core/hash.ts";
import { splitsPair } from "./chunk.ts";
import { PagingError, shortened } from "./errors.ts";

declare const digestBrand: unique symbol;

/** The first 96 bits of a sha256 in base64url, 16 characters. Made by {@link digest}. */
export type Digest = string & { readonly [digestBrand]: true };

/** Where to continue: a character (UTF-16 units from 0), in a PDF within a page (from 1). */
export type Position =
	| { readonly kind: "text"; readonly char: number }
	| { readonly kind: "pdf"; readonly page: number; readonly char: number };

export interface Cursor {
	/** Digest of the normalised address, its root and the extractor's version. */
	readonly resource: Digest;
	/** Digest of the extracted text; for a PDF, of its bytes. */
	readonly content: Digest;
	readonly position: Position;
}

export function digest(value: string | Uint8Array): Digest {
	const hash = Buffer.from(hashBytes(value), "hex");
	return hash.toString("base64url", 0, digestBytes) as Digest;
}

/** {@link digest} for large texts: yields to the event loop between slices. */
export async function digestInSlices(text: string): Promise<Digest> {
	const hash = createHash("sha256");
	for (let at = 0, end = 0; at < text.length; at = end) {
		if (at > 0) await setImmediate();
		end = Math.min(at + SLICE_CHARS, text.length);
		if (splitsPair(text, end)) end++;
		hash.update(text.slice(at, end));
	}
	return hash.digest().toString("base64url", 0, digestBytes) as Digest;
}

const SLICE_CHARS = 1024 * 1024;

/** Encodes a cursor as 48 URL-safe characters, deterministically. */
export function encodeCursor({ resource, content, position }: Cursor): string {
	const bytes = Buffer.alloc(tokenBytes);
	bytes.writeUInt8(version, versionAt);
	writeDigest(bytes, resource, resourceAt);
	writeDigest(bytes, content, contentAt);
	const page = position.kind === "pdf" ? position.page : textPage;
	const isPlace = Number.isInteger(position.char) && Number.isInteger(page);
	if (!isPlace || (position.kind === "pdf" && page === textPage)) {
		throw new RangeError(`Not a place to read from: ${JSON.stringify(position)}`);
	}
	// Both throw on a negative or too large value.
	bytes.writeUIntBE(page, pageAt, charAt - pageAt);
	bytes.writeUInt32BE(position.char, charAt);
	checksum(bytes).copy(bytes, checksumAt);
	return bytes.toString("base64url");
}

/** Throws `cursor_malformed`. The caller checks that the cursor fits the resource. */
export function decodeCursor(token: string): Cursor {
	// Untyped callers may send anything.
	if (typeof token !== "string") throw malformed(`a cursor is a text, this one is ${typeof token}`);
	const shown = JSON.stringify(shortened(token, 64));
	// At this length base64url has no spare bits: one token per byte sequence.
	if (!/^[\w-]{48}$/.test(token)) {
		throw malformed(`a cursor has 48 letters, digits, "-" or "_", this one is ${shown}`);
	}
	const bytes = Buffer.from(token, "base64url");
	if (!checksum(bytes).equals(bytes.subarray(checksumAt))) {
		throw malformed(`${shown} is not the cursor that was given out`);
	}
	if (bytes.readUInt8(versionAt) !== version) {
		throw malformed(`${shown} was made by another version`);
	}
	const page = bytes.readUIntBE(pageAt, charAt - pageAt);
	const char = bytes.readUInt32BE(charAt);
	return {
		resource: readDigest(bytes, resourceAt),
		content: readDigest(bytes, contentAt),
		position: page === textPage ? { kind: "text", char } : { kind: "pdf", page, char },
	};
}

/** Raise it when the meaning of a position or digest changes. */
const version = 1;
const digestBytes = 12;

// Layout: version, resource, content, page (0 for a text), character, checksum.
const versionAt = 0;
const resourceAt = 1;
const contentAt = resourceAt + digestBytes;
const pageAt = contentAt + digestBytes;
const charAt = pageAt + 3;
const checksumAt = charAt + 4;
const tokenBytes = checksumAt + 4;
const textPage = 0;

function writeDigest(bytes: Buffer, value: Digest, at: number): void {
	const written = bytes.write(value, at, digestBytes, "base64url");
	if (written !== digestBytes || readDigest(bytes, at) !== value) {
		throw new TypeError(`"${value}" is not a digest`);
	}
}

function readDigest(bytes: Buffer, at: number): Digest {
	return bytes.toString("base64url", at, at + digestBytes) as Digest;
}

/** Detects a model's typing error, not forgery. */
function checksum(bytes: Buffer): Buffer {
	return Buffer.from(hashBytes(bytes.subarray(0, checksumAt)).slice(0, 8), "hex");
}

function malformed(reason: string): PagingError {
	const advice = "Repeat the cursor exactly as given, or leave it out to read from the beginning.";
	return new PagingError("cursor_malformed", `Malformed cursor: ${reason}. ${advice}`);
}

export function noSuchPlace(where: "text" | "document"): PagingError {
	return new PagingError(
		"cursor_malformed",
		`the cursor points to no place in this ${where}: read without a cursor`,
	);
}
