import { hash } from "node:crypto";

declare const hashBrand: unique symbol;

/** A sha256 as 64 lowercase hex digits. Made by {@link hashBytes} or checked by {@link isHash}. */
export type Hash = string & { readonly [hashBrand]: true };

export function hashBytes(bytes: Uint8Array | string): Hash {
	return hash("sha256", bytes, "hex") as Hash;
}

export function isHash(value: unknown): value is Hash {
	return typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
}
