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

export function tarListing(bytes: Buffer): string {
	const lines: string[] = [];
	/** The name that a header of its own gives the next entry, if it is too long for one. */
	let longName = "";
	let at = 0;
	while (at + BLOCK <= bytes.length && bytes[at] !== 0 && lines.length < MAX_LISTED) {
		const field = (from: number, size: number) =>
			bytes.toString("utf8", at + from, at + from + size).split("\0", 1)[0] ?? "";
		const size = sizeOf(bytes.subarray(at + 124, at + 136));
		const content = () => bytes.toString("utf8", at + BLOCK, at + BLOCK + Math.min(size, MAX_NAME));
		const type = field(156, 1);
		if (type === "L") longName = content().split("\0", 1)[0] ?? "";
		else if (type === "x") longName = PAX_PATH.exec(content())?.[1] ?? "";
		else if (!/[gK]/.test(type)) {
			// Only POSIX archives have the beginning of long names here.
			const prefix = bytes[at + 262] === 0 ? field(345, 155) : "";
			const name = longName || [prefix, field(0, 100)].filter(Boolean).join("/");
			lines.push(lineOf(name, type === "5" ? undefined : size));
			longName = "";
		}
		at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
	}
	return listing(lines);
}

/** What of a header for a long name is read. */
const MAX_NAME = 10_000;
const PAX_PATH = /(?:^|\n)\d+ path=([^\n]*)/;

/** Octal digits, or a binary number for sizes that do not fit. */
function sizeOf(field: Buffer): number {
	if ((field[0] ?? 0) >= 0x80) return Number(field.readBigUInt64BE(4) & MAX_SIZE);
	return Math.max(0, Number.parseInt(field.toString("latin1").trim(), 8) || 0);
}

const MAX_SIZE = BigInt(Number.MAX_SAFE_INTEGER);

function listing(lines: readonly string[]): string {
	return [`Archive with ${counted(lines.length, "entry:", "entries:")}`, "", ...lines].join("\n");
}

function lineOf(name: string, size: number | undefined): string {
	const shown = `- ${shownName(name)}`;
	return size === undefined ? shown : `${shown} (${size.toLocaleString("en-US")} bytes)`;
}

/** Names are untrusted text on one line. */
export function shownName(name: string): string {
	return name
		.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
		.slice(0, 500)
		.toWellFormed();
}
