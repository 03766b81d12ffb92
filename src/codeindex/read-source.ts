import { hash } from "node:crypto";
import { join } from "node:path";
import { errnoOf } from "../core/errno.ts";
import { readWholeSync } from "../core/regular-file.ts";
import { MAX_SOURCE_BYTES } from "./scan/scanned-tree.ts";

type SourceContent =
	| { readonly kind: "read"; readonly bytes: Buffer; readonly hash: Uint8Array }
	/** Deleted since the scan, or replaced by something that is not a file. */
	| { readonly kind: "gone" }
	| { readonly kind: "unreadable"; readonly reason: string };

export function readSource(
	root: string,
	path: string,
	{
		followLinks = false,
		maxBytes = MAX_SOURCE_BYTES,
	}: { followLinks?: boolean; maxBytes?: number } = {},
): SourceContent {
	try {
		const found = readWholeSync(join(root, path), maxBytes, followLinks);
		if (!found) return { kind: "gone" };
		const { bytes } = found;
		if (!bytes) return { kind: "unreadable", reason: "it is too large" };
		// SHA-256 truncated to 128 bits.
		return { kind: "read", bytes, hash: hash("sha256", bytes, "buffer").subarray(0, 16) };
	} catch (error) {
		const code = errnoOf(error) ?? "unknown error";
		if (code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP") return { kind: "gone" };
		return { kind: "unreadable", reason: `it cannot be read (${code})` };
	}
}
