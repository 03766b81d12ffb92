import type { Binding, FileFacts, Member } from "../facts.ts";
import { ByteReader, ByteWriter } from "./bytes.ts";
import { packBindings, packImportedOnly, unpackBindings } from "./pack-bindings.ts";
import { packExports, packRequests } from "./pack-links.ts";
import { packReferences } from "./pack-references.ts";
import { squeeze, unsqueeze } from "./squeeze.ts";

/** The words of a file for full text search, each list joined by spaces. */
export interface FileText {
	readonly path: string;
	readonly symbols: string;
	readonly text: string;
}

/**
 * The facts of a file as they are stored, but for what depends on other files. Made where the file is parsed, so
 * that the thread with the database gets bytes instead of trees of objects.
 */
export interface PackedFile {
	readonly lines: number;
	readonly isModule: boolean;
	readonly problem?: string;
	/** How many things are declared, without members. */
	readonly symbols: number;
	readonly requests: Uint8Array;
	/** For {@link unpackSqueezed}. */
	readonly bindings: Uint8Array;
	/** Those of the bindings that are imports, for `unpackImportedOnly`. Not stored: found in `bindings` too. */
	readonly imported: Uint8Array;
	readonly exports: Uint8Array;
	readonly references: Uint8Array;
	/** For {@link unpackNames}. */
	readonly names: Uint8Array;
	readonly text: FileText;
}

/** Packs what a parser found in a file. */
export function packFile(facts: FileFacts, text: FileText): PackedFile {
	const writer = new ByteWriter();
	const packed = (write: () => void): Uint8Array => {
		write();
		return writer.take();
	};
	const problem = facts.problem ?? (facts.status === "broken" ? "cannot be parsed" : undefined);
	return {
		lines: facts.lines,
		isModule: facts.isModule,
		...(problem === undefined ? {} : { problem }),
		symbols: facts.bindings.filter(({ kind }) => kind === "declared").length,
		requests: packed(() => packRequests(writer, facts.requests)),
		bindings: packed(() => packSqueezed(writer, facts.bindings)),
		imported: packed(() => packImportedOnly(writer, facts.bindings)),
		exports: packed(() => packExports(writer, facts.exports)),
		references: packed(() => packReferences(writer, facts.references)),
		names: packed(() => packNames(writer, facts)),
		text,
	};
}

function packSqueezed(writer: ByteWriter, bindings: readonly Binding[]): void {
	const plain = new ByteWriter();
	packBindings(plain, bindings);
	const bytes = plain.take();
	writer.number(bytes.length);
	writer.bytes(squeeze(bytes));
}

/** The bindings of a packed file. */
export function unpackSqueezed(bytes: Uint8Array): Binding[] {
	const reader = new ByteReader(bytes);
	const length = reader.number();
	return unpackBindings(new ByteReader(unsqueeze(bytes.subarray(reader.at), length)));
}

/** What a file has to do with one name, as it is stored under that name. Absent where it is nothing. */
export interface NameRow {
	readonly name: string;
	/** Things and members of that name, for {@link unpackDeclarations}. */
	readonly declared?: Uint8Array;
	/** Uses behind a dot, for {@link unpackMentions}. */
	readonly mentioned?: Uint8Array;
}

function packNames(writer: ByteWriter, facts: FileFacts): void {
	const declared = declarationsByName(facts);
	const accessed = accessesByName(facts);
	const names = new Set([...declared.keys(), ...accessed.keys(), ...facts.looseAccesses.keys()]);
	writer.number(names.size);
	for (const name of names) {
		writer.string(name);
		writeSet(part, declared.get(name) ?? NONE);
		writePart(writer);
		const loose = facts.looseAccesses.get(name) ?? 0;
		const bindings = accessed.get(name) ?? NONE;
		if (loose > 0 || bindings.length > 0) {
			part.number(loose);
			writeSet(part, bindings);
		}
		writePart(writer);
	}
}

/** The rows of a packed file, each name once. */
export function* unpackNames(bytes: Uint8Array): Generator<NameRow> {
	const reader = new ByteReader(bytes);
	for (let left = reader.count(); left > 0; left--) {
		const name = reader.string();
		const declared = readPart(reader, bytes);
		const mentioned = readPart(reader, bytes);
		yield { name, ...(declared ? { declared } : {}), ...(mentioned ? { mentioned } : {}) };
	}
}

/** Where in a file a name is declared. */
export function unpackDeclarations(bytes: Uint8Array): { binding: number; isMember: boolean }[] {
	return sums(new ByteReader(bytes)).map((entry) => ({
		binding: entry >> 1,
		isMember: (entry & 1) === 1,
	}));
}

/** How often a file accesses a name on something unknown, and through which of its bindings otherwise. */
export function unpackMentions(bytes: Uint8Array): { loose: number; bindings: number[] } {
	const reader = new ByteReader(bytes);
	return { loose: reader.number(), bindings: sums(reader) };
}

function declarationsByName({ bindings }: FileFacts): Map<string, number[]> {
	const byName = new Map<string, number[]>();
	const addMembers = (binding: number, members: readonly Member[] = []) => {
		for (const member of members) {
			addTo(byName, member.name, binding * 2 + 1);
			addMembers(binding, member.members);
		}
	};
	bindings.forEach((binding, index) => {
		if (binding.kind !== "declared") return;
		addTo(byName, binding.name, index * 2);
		addMembers(index, binding.members);
	});
	return byName;
}

function accessesByName({ references }: FileFacts): Map<string, number[]> {
	const byName = new Map<string, number[]>();
	for (const { binding, steps } of references) {
		for (const { name } of steps ?? []) addTo(byName, name, binding);
	}
	return byName;
}

function addTo(lists: Map<string, number[]>, name: string, value: number): void {
	const list = lists.get(name);
	if (list) list.push(value);
	else lists.set(name, [value]);
}

/** Different values, sorted, and each told from the one before: small numbers take less room. */
function writeSet(writer: ByteWriter, values: number[]): void {
	let last = -1;
	for (const value of values.sort((one, other) => one - other)) {
		if (value !== last) writer.number(value - Math.max(last, 0));
		last = value;
	}
}

function sums(reader: ByteReader): number[] {
	const values: number[] = [];
	let value = 0;
	while (!reader.isAtEnd) {
		value += reader.number();
		values.push(value);
	}
	return values;
}

const NONE: number[] = [];
const part = new ByteWriter();

/** Moves what is in `part`, with its length before it. */
function writePart(writer: ByteWriter): void {
	writer.number(part.length);
	writer.append(part);
}

function readPart(reader: ByteReader, bytes: Uint8Array): Uint8Array | undefined {
	const length = reader.number();
	if (length === 0) return undefined;
	reader.at += length;
	return bytes.subarray(reader.at - length, reader.at);
}
