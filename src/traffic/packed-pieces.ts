import { PARTS } from "../wire/index.ts";
import type { TracePiece } from "./trace.ts";

/** A piece in the book: part, kind, hash, bytes, label, tool, path. */
type Packed = [number, string, string, number, string, (string | null)?, (string | null)?];

export function packPieces(pieces: readonly TracePiece[]): string {
	return JSON.stringify(
		pieces.map(({ part, kind, hash, bytes, label, tool, path }): Packed => {
			const packed: Packed = [PARTS.indexOf(part), kind, shortHash(hash), bytes, label];
			if (tool || path) packed.push(tool ?? null);
			if (path) packed.push(path);
			return packed;
		}),
	);
}

/** `text` was written by {@link packPieces}. */
export function unpackPieces(text: string): TracePiece[] {
	return (JSON.parse(text) as Packed[]).map(([part, kind, hash, bytes, label, tool, path]) => ({
		part: PARTS[part] ?? "messages",
		kind: kind as TracePiece["kind"],
		hash: Buffer.from(hash, "base64url").toString("hex"),
		...{ bytes, label },
		...(tool && { tool }),
		...(path && { path }),
	}));
}

/** Hex digits as base64: two thirds of the length. */
function shortHash(hex: string): string {
	return Buffer.from(hex, "hex").toString("base64url");
}
