import { closeSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { property } from "./property.ts";

/** A line of a session file as pi holds it: the header first, then the entries in the order of the file. */
export interface FileEntry {
	readonly id: string;
}

/** What a session file holds, compared with what pi believes. */
export type FileState =
	/** Its last line is pi's last entry. */
	| { readonly kind: "in-step" }
	/** There is no file and there was none: pi writes it later. */
	| { readonly kind: "unwritten" }
	/** The last entries are not there, or not whole. Appending `rest` mends that. */
	| { readonly kind: "behind"; readonly missing: number; readonly rest: Buffer }
	/** Entries are missing, or the file is. Nothing in it is unknown: it may be written again. */
	| { readonly kind: "lacking"; readonly missing: number }
	/** It holds lines that pi does not know: another program's entries, or what cannot be read. */
	| {
			readonly kind: "foreign";
			readonly entries: number;
			readonly garbled: number;
			/** Of pi's entries. */
			readonly missing: number;
	  };

/** A line that is no entry. */
export interface GarbledLine {
	/** From 1. */
	readonly number: number;
	/** Its first byte, and the byte behind its last. */
	readonly from: number;
	readonly to: number;
}

/** Compares one session file with pi's entries, again and again. */
export interface SessionFileWatch {
	readonly file: string;
	/** Whether the file was ever in step. Until then pi may still have to write it. */
	readonly isSeen: boolean;
	/** The id in its last line when it was last in step. */
	readonly last: string | undefined;
	/** The lines that were garbled already when the file was first in step. */
	readonly garbled: readonly GarbledLine[];
	/**
	 * `entries` are all that pi holds, the header first. The first look reads the file, later ones ask for its size and
	 * read only what they did not expect. Throws what the disk throws.
	 */
	look(entries: readonly FileEntry[]): FileState;
}

export function watchSessionFile(file: string): SessionFileWatch {
	/** The file when it was last in step: so many entries in so many bytes. */
	let known: { dev: number; ino: number; size: number; count: number; last?: string } | undefined;
	let garbled: readonly GarbledLine[] = [];
	return {
		file,
		get isSeen() {
			return known !== undefined;
		},
		get last() {
			return known?.last;
		},
		get garbled() {
			return garbled;
		},
		look(entries) {
			const found = statSync(file, { throwIfNoEntry: false });
			if (!found)
				return known ? { kind: "lacking", missing: entries.length } : { kind: "unwritten" };
			const { dev, ino, size } = found;
			const isSame = known?.dev === dev && known.ino === ino;
			let state: FileState;
			if (known && isSame && size >= known.size && entries.length >= known.count) {
				const added = entries.slice(known.count);
				const isExpected = size === known.size + bytesOf(added);
				state = isExpected ? IN_STEP : judge(readFrom(file, known.size, size), added);
			} else {
				const bytes = readFileSync(file);
				state = !known && isPlainlyWhole(bytes, entries) ? IN_STEP : judge(bytes, entries);
				// The damage of a file that was just loaded is not of this writer's making.
				if (!known && state.kind === "foreign" && holdsAll(bytes, entries)) {
					garbled = linesIn(bytes).filter(({ id }) => id === undefined);
					state = IN_STEP;
				}
			}
			if (state.kind === "lacking" && garbled.length > 0) {
				return { ...state, kind: "foreign", entries: 0, garbled: garbled.length };
			}
			const last = entries.at(-1)?.id;
			if (state.kind === "in-step") {
				known = { dev, ino, size, count: entries.length, ...(last !== undefined && { last }) };
			}
			return state;
		},
	};
}

const IN_STEP = { kind: "in-step" } as const;

/** The bytes that pi writes for entries. */
export function linesOfEntries(entries: readonly FileEntry[]): string {
	return entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
}

function bytesOf(entries: readonly FileEntry[]): number {
	return entries.length === 0 ? 0 : Buffer.byteLength(linesOfEntries(entries));
}

/** Compares bytes of a file with the entries that are to be in them. */
function judge(bytes: Buffer, entries: readonly FileEntry[]): FileState {
	const lines = linesIn(bytes);
	let present = 0;
	let to = 0;
	// By id: pi may have changed an entry in memory since it wrote it.
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
	const unreadable = unknown.filter(({ id }) => id === undefined).length;
	const absent = entries.filter(({ id }) => !seen.has(id)).length;
	if (unknown.length === 0) return { kind: "lacking", missing: absent };
	return {
		kind: "foreign",
		entries: unknown.length - unreadable,
		garbled: unreadable,
		missing: absent,
	};
}

/** The same for a file that pi has just read or written, without parsing it: as many lines as entries, the last one last. */
function isPlainlyWhole(bytes: Buffer, entries: readonly FileEntry[]): boolean {
	if (bytes.at(-1) !== 10) return false;
	let count = 0;
	for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) count++;
	if (count !== entries.length) return false;
	const last = bytes.subarray(bytes.lastIndexOf(10, -2) + 1, -1);
	return idIn(last.toString()) === entries.at(-1)?.id;
}

/** Whether a file has every entry in order, and nothing else that is one. */
function holdsAll(bytes: Buffer, entries: readonly FileEntry[]): boolean {
	const ids = linesIn(bytes).flatMap(({ id }) => id ?? []);
	const own = entries.flatMap(({ id }) => (typeof id === "string" ? id : [])); // pi checks no line it reads
	return ids.length === own.length && ids.every((id, at) => id === own[at]);
}

interface Line extends GarbledLine {
	/** Of the entry in it; absent where there is none. */
	readonly id?: string;
	/** A newline follows. */
	readonly isEnded: boolean;
}

/** The lines of a file that are not blank. */
function linesIn(bytes: Buffer): Line[] {
	const lines: Line[] = [];
	let number = 0;
	for (let from = 0; from < bytes.length; ) {
		const newline = bytes.indexOf(10, from);
		const to = newline === -1 ? bytes.length : newline;
		const text = bytes.toString("utf8", from, to);
		number++;
		if (text.trim()) {
			const id = idIn(text);
			lines.push({ number, from, to, isEnded: newline !== -1, ...(id !== undefined && { id }) });
		}
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

function readFrom(path: string, from: number, to: number): Buffer {
	const file = openSync(path, "r");
	try {
		const bytes = Buffer.alloc(to - from);
		let filled = 0;
		while (filled < bytes.length) {
			const count = readSync(file, bytes, filled, bytes.length - filled, from + filled);
			if (count === 0) break;
			filled += count;
		}
		return bytes.subarray(0, filled);
	} finally {
		closeSync(file);
	}
}
