import { counted } from "../../text/figures.ts";
import type { ZipArchive } from "./zip.ts";

/** The entries of an archive with their sizes, one a line. */
export function archiveListing(zip: ZipArchive): string {
	const lines = Array.from(zip.entries, ([name, { uncompressedSize }]) =>
		lineOf(name, name.endsWith("/") ? undefined : uncompressedSize),
	);
	return listing(lines);
}

const BLOCK = 512;
/** Entries of a tar that are listed. */
const MAX_LISTED = 20_000;

export function isTar(bytes: Buffer): boolean {
	return bytes.length >= BLOCK && bytes.toString("latin1", 257, 262) === "ustar";
}

export function tarListing(bytes: Buffer): string {
	const lines: string[] = [];
	let at = 0;
	while (at + BLOCK <= bytes.length && bytes[at] !== 0 && lines.length < MAX_LISTED) {
		const field = (from: number, size: number) =>
			bytes.toString("utf8", at + from, at + from + size).split("\0", 1)[0] ?? "";
		const name = [field(345, 155), field(0, 100)].filter(Boolean).join("/");
		const size = Math.max(0, Number.parseInt(field(124, 12).trim(), 8) || 0);
		const type = field(156, 1);
		// Headers for long names and extended attributes are no entries of their own.
		if (!/[xgLK]/.test(type)) lines.push(lineOf(name, type === "5" ? undefined : size));
		at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
	}
	return listing(lines);
}

function listing(lines: readonly string[]): string {
	return [`Archive with ${counted(lines.length, "entry:", "entries:")}`, "", ...lines].join("\n");
}

/** Names are untrusted text on one line. */
function lineOf(name: string, size: number | undefined): string {
	const shown = name
		.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
		.slice(0, 500)
		.toWellFormed();
	return size === undefined ? `- ${shown}` : `- ${shown} (${size.toLocaleString("en-US")} bytes)`;
}
