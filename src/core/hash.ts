import { hash } from "node:crypto";

declare const hashBrand: unique symbol;

/** A sha256 as 64 lowercase hex digits. Made by {@link hashBytes}, or proven by {@link isHash}. */
export type Hash = string & { readonly [hashBrand]: true };

/** The sha256 of the bytes; a string is hashed as UTF-8. */
export function hashBytes(bytes: Uint8Array | string): Hash {
	return hash("sha256", bytes, "hex") as Hash;
}

/** Whether a value from outside (a session file, a file name) is a well-formed hash. */
export function isHash(value: unknown): value is Hash {
	return typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
}
