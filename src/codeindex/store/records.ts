/** One function both writes and reads a record. With a `value` it writes, without one it reads. */
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { ByteReader, type Bytes, ByteWriter, MalformedBytes } from "../../core/bytes.ts";
import { EDGE_KINDS, SYMBOL_KINDS } from "../../text/kinds.ts";
import type {
	Binding,
	Declared,
	EdgeKind,
	Export,
	Imported,
	Member,
	ModuleRequest,
	Parameter,
	Position,
	Step,
	TypeName,
} from "../facts.ts";
import type { FileId, ImportOf, Resolution } from "../index-reader.ts";

type Layout<T> = (io: Bytes, value?: T) => T;
export type Writable<T> = { -readonly [K in keyof T]: T[K] };
type Fields<T> = Partial<Omit<T, "kind">>;
/** Replaces `value`, which is absent when reading. */
const NONE = {};

function listOf<T>(item: Layout<T>): Layout<readonly T[]> {
	return (io, values) => {
		let left = io.count(values?.length);
		if (values) {
			for (const value of values) item(io, value);
			return values;
		}
		const items: T[] = [];
		for (; left > 0; left--) items.push(item(io));
		return items;
	};
}

/** The order of `all` is part of the format: only append to it. */
function oneOf<T>(io: Bytes, all: readonly T[], what: string, value: T | undefined): T {
	const found = all[io.number(value === undefined ? 0 : all.indexOf(value))];
	if (found === undefined) throw new MalformedBytes(`an unknown kind of ${what}`);
	return found;
}

export function bit(isSet: unknown, bit: number): number {
	return isSet ? bit : 0;
}

const position: Layout<Position> = (io, at) => [io.number(at?.[0]), io.number(at?.[1])];
const positions = listOf(position);

const CALLED = 1;
const AT = 2;

const steps = listOf<Step>((io, { name, at, called }: Fields<Step> = NONE) => {
	const flags = io.number(bit(called, CALLED) | bit(at, AT));
	const step: Writable<Step> = { name: io.string(name) };
	if (flags & AT) step.at = position(io, at);
	if (flags & CALLED) step.called = true;
	return step;
});

const INSTANCE = 1;
const PATH = 2;

const typeName: Layout<TypeName> = (io, from: Fields<TypeName> = NONE) => {
	const flags = io.number(bit(from.side === "instance", INSTANCE) | bit(from.path, PATH));
	const binding = io.number(from.binding);
	const side = flags & INSTANCE ? "instance" : "value";
	return flags & PATH ? { binding, side, path: steps(io, from.path) } : { binding, side };
};
const typeNames = listOf(typeName);
const parameters = listOf<Parameter>((io, from: Fields<Parameter> = NONE) => ({
	index: io.number(from.index),
	type: typeName(io, from.type),
}));

/** Flags of both import records. Flag 1 is `IMPORTED` in one, `EXPORTED` in the other. */
const TYPE_ONLY = 2;
const IMPORTED_AT = 4;
const SAME_NAME = 8;
const FALLBACK = 16;

function importFlags(from: Fields<Imported>): number {
	const { name, imported, typeOnly, importedAt, fallback } = from;
	return (
		bit(typeOnly, TYPE_ONLY) |
		bit(importedAt, IMPORTED_AT) |
		bit(name === imported, SAME_NAME) |
		bit(fallback, FALLBACK)
	);
}

function importOf(
	io: Bytes,
	flags: number,
	from: Fields<Imported>,
	name: string,
	imported: string,
	request: number,
): Imported {
	const typeOnly = (flags & TYPE_ONLY) !== 0;
	const at = position(io, from.at);
	const found: Writable<Imported> = { kind: "imported", name, request, imported, typeOnly, at };
	if (flags & IMPORTED_AT) found.importedAt = position(io, from.importedAt);
	if (flags & FALLBACK) found.fallback = true;
	return found;
}

function importedBinding(io: Bytes, flags: number, from: Fields<Imported>): Imported {
	const name = io.string(from.name);
	const imported = flags & SAME_NAME ? name : io.string(from.imported);
	const request = io.number(from.request);
	return importOf(io, flags, from, name, imported, request);
}

const IMPORTED = 1;
const ALSO_AT = 2;
const DOC = 4;
const HERITAGE = 8;
const TYPE = 16;
const MEMBERS = 32;
const STATIC = 64;
const PARTIAL = 128;
const PARAMETERS = 256;
const START = 512;

type Shared = Pick<
	Declared,
	"name" | "symbol" | "at" | "alsoAt" | "startLine" | "endLine" | "signature"
>;

function sharedFlags(from: Fields<Declared | Member>): number {
	const { alsoAt, startLine, type, parameters, members } = from;
	return (
		bit(alsoAt, ALSO_AT) |
		bit(type, TYPE) |
		bit(parameters, PARAMETERS) |
		bit(members, MEMBERS) |
		bit(startLine !== undefined, START)
	);
}

function shared(io: Bytes, flags: number, from: Partial<Shared>): Shared {
	const name = io.string(from.name);
	const symbol = oneOf(io, SYMBOL_KINDS, "symbol", from.symbol);
	const at = position(io, from.at);
	const startLine = flags & START ? at[0] - io.signed(at[0] - (from.startLine ?? 0)) : undefined;
	const endLine = at[0] + io.signed((from.endLine ?? 0) - at[0]);
	const signature = signatureOf(io, name, from.signature);
	const found: Writable<Shared> = { name, symbol, at, endLine, signature };
	if (flags & ALSO_AT) found.alsoAt = positions(io, from.alsoAt);
	if (startLine !== undefined) found.startLine = startLine;
	return found;
}

/** Most signatures contain the name, so only the text around it is stored. */
function signatureOf(io: Bytes, name: string, signature = ""): string {
	const found = name === "" ? -1 : signature.indexOf(name);
	const place = io.number(found + 1) - 1;
	const rest = io.string(
		found < 0 ? signature : signature.slice(0, found) + signature.slice(found + name.length),
	);
	return place < 0 ? rest : rest.slice(0, place) + name + rest.slice(place);
}

const member: Layout<Member> = (io, from: Fields<Member> = NONE) => {
	const flags = io.number(
		sharedFlags(from) | bit(from.doc !== undefined, DOC) | bit(from.static, STATIC),
	);
	const isStatic = (flags & STATIC) !== 0;
	const found: Writable<Member> = { ...shared(io, flags, from), static: isStatic };
	if (flags & DOC) found.doc = io.string(from.doc);
	if (flags & TYPE) found.type = typeName(io, from.type);
	if (flags & PARAMETERS) found.parameters = parameters(io, from.parameters);
	if (flags & MEMBERS) found.members = members(io, from.members);
	return found;
};
const members = listOf(member);

function declaredBinding(io: Bytes, flags: number, from: Fields<Declared>): Declared {
	const found: Writable<Declared> = { kind: "declared", ...shared(io, flags, from) };
	if (flags & DOC) found.doc = io.string(from.doc);
	if (flags & HERITAGE) found.heritage = typeNames(io, from.heritage);
	if (flags & TYPE) found.type = typeName(io, from.type);
	if (flags & PARAMETERS) found.parameters = parameters(io, from.parameters);
	if (flags & MEMBERS) found.members = members(io, from.members);
	if (flags & PARTIAL) found.partial = true;
	return found;
}

export const bindings = listOf<Binding>((io, value) => {
	const from: Fields<Imported> & Fields<Declared> = value ?? NONE;
	const flags = io.number(
		value?.kind === "imported"
			? IMPORTED | importFlags(value)
			: sharedFlags(from) |
					bit(from.doc !== undefined, DOC) |
					bit(from.heritage, HERITAGE) |
					bit(from.partial, PARTIAL),
	);
	return flags & IMPORTED ? importedBinding(io, flags, from) : declaredBinding(io, flags, from);
});

export function packBindings(values: readonly Binding[]): Uint8Array {
	const writer = new ByteWriter();
	bindings(writer, values);
	const plain = writer.take();
	writer.number(plain.length);
	writer.bytes(compress(plain));
	return writer.take();
}

export function unpackBindings(bytes: Uint8Array): readonly Binding[] {
	const reader = new ByteReader(bytes);
	const length = reader.number();
	return bindings(new ByteReader(decompress(bytes.subarray(reader.at), length)));
}

/** For bindings only: inflating takes about 20 µs, too slow for data read from thousands of files. */
function compress(bytes: Uint8Array): Uint8Array {
	if (bytes.length < MIN_COMPRESSED) return bytes;
	return deflateRawSync(bytes, { ...COMPRESSION, level: 3, memLevel: 6 });
}

function decompress(bytes: Uint8Array, length: number): Uint8Array {
	if (length < MIN_COMPRESSED) return bytes;
	try {
		return inflateRawSync(bytes, { ...COMPRESSION, maxOutputLength: length });
	} catch (error) {
		throw new MalformedBytes((error as Error).message);
	}
}

const MIN_COMPRESSED = 64;

/** Common text of signatures, most frequent last. Part of the format: a change needs a migration. */
const DICTIONARY = Buffer.from(
	"extends Omit<Pick<Record<string, unknown>ReadonlyMap<ReadonlySet<Partial<Uint8Array " +
		"abstract protected private override declare enum namespace get set constructor( " +
		"Whether a file is set. The value of the number of the default is the same as if this returns undefined " +
		"import type implements Iterable<AsyncIterable<IterableIterator<Generator<Error unknown): void " +
		"options?: boolean = false, = true, = {}): Promise<void> => Promise<string>(callback: (error " +
		"export default export const export class export interface export type export async function export function " +
		"readonly name: string; readonly path: string; static async (options: string | undefined | null " +
		"(value: number): boolean, (key: string): string[], number, string, ",
);
/** The window is small, since most inputs are short. */
const COMPRESSION = { dictionary: DICTIONARY, windowBits: 13 };

export const importedOnly = listOf<readonly [index: number, as: Imported]>((io, value) => {
	const [index, from = {}]: readonly [number?, Fields<Imported>?] = value ?? [];
	const at = io.number(index);
	return [at, importedBinding(io, io.number(IMPORTED | importFlags(from)), from)];
});

export type ImportEntry = Omit<ImportOf, "file">;

const EXPORTED = 1;

export function importEntries(
	io: Bytes,
	imported: string,
	values: readonly ImportEntry[] = [],
): ImportEntry[] {
	const entries: ImportEntry[] = [];
	for (let at = 0; at < values.length || !io.isAtEnd; at++) {
		const value = values[at];
		const from: Fields<Imported> = value?.as ?? NONE;
		const flags = io.number(bit(value?.isExported, EXPORTED) | importFlags(from));
		const binding = io.number(value?.binding);
		const request = io.number(from.request);
		const name = flags & SAME_NAME ? imported : io.string(from.name);
		const as = importOf(io, flags, from, name, imported, request);
		entries.push({ binding, as, isExported: (flags & EXPORTED) !== 0 });
	}
	return entries;
}

export function kindBits(kinds: readonly EdgeKind[]): number {
	return kinds.reduce((bits, kind) => bits | (1 << EDGE_KINDS.indexOf(kind)), 0);
}

/** Returns kinds in a fixed order. Equal bits return the same list. */
export function kindsOf(bits: number): readonly EdgeKind[] {
	return KINDS_OF[bits] ?? [];
}

const KINDS_OF = Array.from({ length: 1 << EDGE_KINDS.length }, (_, bits) =>
	EDGE_KINDS.filter((_, place) => bits & (1 << place)),
);

export const requests = listOf<ModuleRequest>((io, value) => {
	const kinds = kindsOf(io.number(kindBits(value?.kinds ?? [])));
	return { specifier: io.string(value?.specifier), kinds, at: position(io, value?.at) };
});

const TO_FILE = 0;
const EXTERNAL = 1;
const UNRESOLVED = 2;

export const resolutions = listOf<Resolution>((io, value) => {
	const from: { file?: number; name?: string; reason?: string } = value ?? NONE;
	const { file = 0, name, reason } = from;
	const kind = name !== undefined ? EXTERNAL : reason !== undefined ? UNRESOLVED : TO_FILE;
	const head = io.number(file * 4 + kind);
	if (head % 4 === TO_FILE) return { kind: "file", file: Math.floor(head / 4) as FileId };
	if (head === EXTERNAL) return { kind: "external", name: io.string(name) };
	if (head === UNRESOLVED) return { kind: "unresolved", reason: io.string(reason) };
	throw new MalformedBytes("an unknown kind of resolution");
});

const EXPORTS = ["local", "from", "star"] as const;
const EXPORT_TYPE_ONLY = 4;
const POSITIONS = 8;

export const exports = listOf<Export>((io, value) => {
	const from: ExportFields<"local"> & ExportFields<"from"> = value ?? NONE;
	const flags = io.number(
		(value ? EXPORTS.indexOf(value.kind) : 0) |
			bit(from.typeOnly, EXPORT_TYPE_ONLY) |
			bit(from.at, POSITIONS),
	);
	const typeOnly = (flags & EXPORT_TYPE_ONLY) !== 0;
	const at = () => (flags & POSITIONS ? positions(io, from.at) : []);
	const kind = EXPORTS[flags & 3];
	if (kind === undefined) throw new MalformedBytes("an unknown kind of export");
	if (kind === "star") return { kind, request: io.number(from.request), typeOnly };
	const name = io.string(from.name);
	if (kind === "local") {
		const binding = io.number(from.binding);
		if (!(flags & POSITIONS)) return { kind, name, binding, typeOnly };
		return { kind, name, binding, at: at(), typeOnly };
	}
	const request = io.number(from.request);
	return { kind, name, request, imported: io.string(from.imported), at: at(), typeOnly };
});

type ExportFields<Kind> = Fields<Extract<Export, { kind: Kind }>>;

export type LinkFacts = ReturnType<typeof unpackLinks>;

export function unpackLinks(row: Record<string, unknown>) {
	return {
		exports: exports(new ByteReader(row.exports as Uint8Array)),
		requests: requests(new ByteReader(row.requests as Uint8Array)),
		resolutions: resolutions(new ByteReader(row.resolutions as Uint8Array)),
	};
}

export function unpackDeclarations(bytes: Uint8Array): { binding: number; isMember: boolean }[] {
	return sums(new ByteReader(bytes)).map((entry) => ({
		binding: entry >> 1,
		isMember: (entry & 1) === 1,
	}));
}

export function unpackMentions(bytes: Uint8Array): { loose: number; bindings: number[] } {
	const reader = new ByteReader(bytes);
	return { loose: reader.number(), bindings: sums(reader) };
}

function sums(reader: ByteReader): number[] {
	const values: number[] = [];
	for (let value = 0; !reader.isAtEnd; values.push(value)) value += reader.number();
	return values;
}
