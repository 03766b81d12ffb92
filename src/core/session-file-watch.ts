import { readFileSync, statSync } from "node:fs";
import { property } from "./property.ts";
import { readPartSync } from "./regular-file.ts";

export interface FileEntry {
	readonly id: string;
}

export type FileState =
	| { readonly kind: "in-step" }
	/** The file does not exist and never did. Pi writes it later. */
	| { readonly kind: "unwritten" }
	/** The last entries are missing or cut off. Appending `rest` repairs the file. */
	| { readonly kind: "behind"; readonly missing: number; readonly rest: Buffer }
	/** Entries or the whole file are missing. The file holds no unknown lines, so it may be rewritten. */
	| { readonly kind: "lacking"; readonly missing: number }
	/** The file holds lines unknown to pi: entries of another program, or unreadable lines. */
	| {
			readonly kind: "foreign";
			readonly entries: number;
			readonly garbled: number;
			readonly missing: number;
	  };

export interface GarbledLine {
	/** Line number, from 1. */
	readonly number: number;
	/** Byte range; `to` is exclusive. */
	readonly from: number;
	readonly to: number;
}

export type SessionFileWatch = ReturnType<typeof watchSessionFile>;

export function watchSessionFile(file: string) {
	let known:
		| { dev: number; ino: number; size: number; count: number; last: string | undefined }
		| undefined;
	let garbled: readonly GarbledLine[] = [];
	return {
		file,
		/** Whether the file ever matched pi's entries. Until then, pi may not have written it. */
		get isSeen() {
			return known !== undefined;
		},
		get last() {
			return known?.last;
		},
		/** Lines that were already unreadable when the file first matched pi's entries. */
		get garbled() {
			return garbled;
		},
		/**
		 * `entries` include the header. Reads the whole file at first and after it was replaced or cut,
		 * otherwise only unexpected bytes. Throws I/O errors.
		 */
		check(entries: readonly FileEntry[]): FileState {
			const found = statSync(file, { throwIfNoEntry: false });
			if (!found)
				return known ? { kind: "lacking", missing: entries.length } : { kind: "unwritten" };
			const { dev, ino, size } = found;
			const isSame = known?.dev === dev && known.ino === ino;
			let state: FileState;
			if (known && isSame && size >= known.size && entries.length >= known.count) {
				const added = entries.slice(known.count);
				const isExpected = size === known.size + Buffer.byteLength(linesOfEntries(added));
				state = isExpected
					? IN_STEP
					: judge(readPartSync(file, known.size, size - known.size), added);
			} else {
				const bytes = readFileSync(file);
				state = !known && isPlainlyWhole(bytes, entries) ? IN_STEP : judge(bytes, entries);
				// Damage in a file that was just loaded comes from an earlier writer, so it is not a new fault.
				if (!known && state.kind === "foreign" && holdsAll(bytes, entries)) {
					garbled = linesIn(bytes).filter(({ id }) => id === undefined);
					state = IN_STEP;
				}
			}
			if (state.kind === "lacking" && garbled.length > 0) {
				return { ...state, kind: "foreign", entries: 0, garbled: garbled.length };
			}
			if (state.kind === "in-step") {
				known = { dev, ino, size, count: entries.length, last: entries.at(-1)?.id };
			}
			return state;
		},
	};
}

const IN_STEP = { kind: "in-step" } as const;

export function linesOfEntries(entries: readonly FileEntry[]): string {
	return entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
}

function judge(bytes: Buffer, entries: readonly FileEntry[]): FileState {
	const lines = linesIn(bytes);
	let present = 0;
	let to = 0;
	// Compares only ids, since pi may have changed an entry in memory after writing it.
	for (const line of lines) {
		if (!line.isEnded || line.id === undefined || line.id !== entries[present]?.id) break;
		present++;
		to = line.to + 1;
	}
	const missing = entries.slice(present);
	if (missing.length === 0 && lines.length === present) return IN_STEP;
	const expected = Buffer.from(linesOfEntries(missing));
	const rest = bytes.subarray(to);
	if (expected.subarray(0, rest.length).equals(rest)) {
		return { kind: "behind", missing: missing.length, rest: expected.subarray(rest.length) };
	}
	const own = new Set(entries.map(({ id }) => id));
	const seen = new Set(lines.map(({ id }) => id));
	const unknown = lines.filter(({ id }) => id === undefined || !own.has(id));
	const garbled = unknown.filter(({ id }) => id === undefined).length;
	const absent = entries.filter(({ id }) => !seen.has(id)).length;
	if (unknown.length === 0) return { kind: "lacking", missing: absent };
	return { kind: "foreign", entries: unknown.length - garbled, garbled, missing: absent };
}

/** Fast path that parses only the last line: as many lines as entries, and the right last id. */
function isPlainlyWhole(bytes: Buffer, entries: readonly FileEntry[]): boolean {
	if (bytes.at(-1) !== 10) return false;
	let count = 0;
	for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) count++;
	if (count !== entries.length) return false;
	const last = bytes.subarray(bytes.lastIndexOf(10, -2) + 1, -1);
	return idIn(last.toString()) === entries.at(-1)?.id;
}

function holdsAll(bytes: Buffer, entries: readonly FileEntry[]): boolean {
	const ids = linesIn(bytes).flatMap(({ id }) => id ?? []);
	const own = entries.flatMap(({ id }) => (typeof id === "string" ? id : [])); // pi does not validate ids
	return ids.length === own.length && ids.every((id, at) => id === own[at]);
}

interface Line extends GarbledLine {
	readonly id: string | undefined;
	readonly isEnded: boolean;
}

function linesIn(bytes: Buffer): Line[] {
	const lines: Line[] = [];
	let number = 0;
	for (let from = 0; from < bytes.length; ) {
		const newline = bytes.indexOf(10, from);
		const to = newline === -1 ? bytes.length : newline;
		const text = bytes.toString("utf8", from, to);
		number++;
		if (text.trim()) lines.push({ number, from, to, isEnded: newline !== -1, id: idIn(text) });
		from = to + 1;
	}
	return lines;
}

function idIn(line: string): string | undefined {
	try {
		const id = property(JSON.parse(line), "id");
		return typeof id === "string" ? id : undefined;
	} catch {
		return undefined;
	}
}
