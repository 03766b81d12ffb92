import { hashBytes } from "../../core/hash.ts";
import { isRecord } from "../../core/property.ts";

/** 32 digits (16 bytes) make a collision within a session implausible. */
const HASH_DIGITS = 32;

export function contentHash(kind: string, content: unknown): string {
	return hashBytes(`${kind}\0${serialized(content)}`).slice(0, HASH_DIGITS);
}

/**
 * JSON, but for texts in a list or a text block: these are most of the content, and quoting them takes
 * longer than hashing. Their length keeps different contents apart: JSON has no NUL.
 */
function serialized(content: unknown): string {
	if (typeof content === "string") return `\0${content.length}:${content}`;
	if (Array.isArray(content)) return `[${content.map(serialized).join()}]`;
	if (isRecord(content) && typeof content.text === "string") {
		const { text, ...rest } = content;
		return `${serialized(text)}${JSON.stringify(rest)}`;
	}
	return JSON.stringify(content);
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
