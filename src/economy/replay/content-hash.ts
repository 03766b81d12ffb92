import { hashBytes } from "../../core/hash.ts";

/** 32 digits (16 bytes) make a collision within a session implausible. */
const HASH_DIGITS = 32;

export function contentHash(kind: string, content: unknown): string {
	// Most content is one long text, which needs no quotes to differ from JSON: JSON has no NUL.
	const text = typeof content === "string" ? `\0${content}` : JSON.stringify(content);
	return hashBytes(`${kind}\0${text}`).slice(0, HASH_DIGITS);
}

/** Bounds an untrusted name, path or id, which stays in memory. */
export function nameOr(value: unknown, otherwise: string): string {
	const name = typeof value === "string" ? value : otherwise;
	// Copied, since a slice would keep the whole text in memory.
	return name.length <= MAX_NAME_LENGTH
		? name
		: Buffer.from(name.slice(0, MAX_NAME_LENGTH)).toString();
}

const MAX_NAME_LENGTH = 1024;
