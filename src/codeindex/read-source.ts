import { hash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { errnoOf } from "../core/errno.ts";
import { maxSourceBytes } from "./scan/scanned-tree.ts";

export type SourceContent =
	| { readonly kind: "read"; readonly bytes: Buffer; readonly hash: Uint8Array }
	/** Deleted or replaced by a non-file since the scan. */
	| { readonly kind: "gone" }
	| { readonly kind: "unreadable"; readonly reason: string };

// Windows has neither flag. Without O_NONBLOCK, opening a pipe blocks.
const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
const noFollow = constants.O_NOFOLLOW ?? 0;

/** Synchronous. The file may have been replaced since the scan. */
export function readSource(
	root: string,
	path: string,
	{ followLinks = false }: { followLinks?: boolean } = {},
): SourceContent {
	try {
		const file = openSync(join(root, path), followLinks ? flags : flags | noFollow);
		try {
			const stats = fstatSync(file);
			if (!stats.isFile()) return { kind: "gone" };
			if (stats.size > maxSourceBytes) return { kind: "unreadable", reason: "it is too large" };
			const bytes = readUpTo(file, stats.size);
			// SHA-256 truncated to 128 bits.
			return { kind: "read", bytes, hash: hash("sha256", bytes, "buffer").subarray(0, 16) };
		} finally {
			closeSync(file);
		}
	} catch (error) {
		const code = errnoOf(error) ?? "unknown error";
		if (code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP") return { kind: "gone" };
		return { kind: "unreadable", reason: `it cannot be read (${code})` };
	}
}

function readUpTo(file: number, size: number): Buffer {
	const bytes = Buffer.allocUnsafe(size);
	let filled = 0;
	while (filled < size) {
		const read = readSync(file, bytes, filled, size - filled, filled);
		if (read === 0) break;
		filled += read;
	}
	return bytes.subarray(0, filled);
}
