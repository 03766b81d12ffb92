import { type Hash, hashBytes } from "../core/hash.ts";

/** The hash of a file: the sha256 of its content. */
export function fileHash(content: Uint8Array | string): Hash {
	return hashBytes(content);
}

/** The hash of an entry of the symbol map: the sha256 of its compact block. */
export function symbolHash(block: string): Hash {
	return hashBytes(block);
}

/** The hash of a history message: the sha256 of `role:content`. */
export function historyHash(role: "user" | "assistant", content: string): Hash {
	return hashBytes(`${role}:${content}`);
}
