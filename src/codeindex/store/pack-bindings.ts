import { symbolKinds } from "../../text/kinds.ts";
import type { Binding, Declared, Imported, Member, Position, Step, TypeName } from "../facts.ts";
import { type ByteReader, type ByteWriter, MalformedBytes } from "./bytes.ts";

/** The bindings of a file as bytes. */
export function packBindings(writer: ByteWriter, bindings: readonly Binding[]): void {
	writer.number(bindings.length);
	for (const binding of bindings) {
		if (binding.kind === "imported") packImported(writer, binding);
		else packDeclared(writer, binding);
	}
}

export function unpackBindings(reader: ByteReader): Binding[] {
	return list(reader, (): Binding => {
		const flags = reader.number();
		return flags & IMPORTED ? unpackImported(reader, flags) : unpackDeclared(reader, flags);
	});
}

const IMPORTED = 1;
const TYPE_ONLY = 2;
const IMPORTED_AT = 4;
const SAME_NAME = 8;

/** The imports among the bindings, each with its index: all that linking needs of them. */
export function packImportedOnly(writer: ByteWriter, bindings: readonly Binding[]): void {
	bindings.forEach((binding, index) => {
		if (binding.kind !== "imported") return;
		writer.number(index);
		packImported(writer, binding);
	});
}

/** What {@link packImportedOnly} wrote, by the indexes. */
export function unpackImportedOnly(reader: ByteReader): Map<number, Imported> {
	const imported = new Map<number, Imported>();
	while (!reader.isAtEnd) imported.set(reader.number(), unpackImported(reader, reader.number()));
	return imported;
}

function packImported(writer: ByteWriter, binding: Imported): void {
	const isSameName = binding.imported === binding.name;
	writer.number(
		IMPORTED |
			(binding.typeOnly ? TYPE_ONLY : 0) |
			(binding.importedAt ? IMPORTED_AT : 0) |
			(isSameName ? SAME_NAME : 0),
	);
	writer.string(binding.name);
	if (!isSameName) writer.string(binding.imported);
	writer.number(binding.request);
	packPosition(writer, binding.at);
	if (binding.importedAt) packPosition(writer, binding.importedAt);
}

function unpackImported(reader: ByteReader, flags: number): Imported {
	const name = reader.string();
	const imported = flags & SAME_NAME ? name : reader.string();
	const request = reader.number();
	const at = unpackPosition(reader);
	const typeOnly = (flags & TYPE_ONLY) !== 0;
	if (!(flags & IMPORTED_AT)) return { kind: "imported", name, request, imported, typeOnly, at };
	const importedAt = unpackPosition(reader);
	return { kind: "imported", name, request, imported, typeOnly, at, importedAt };
}

const ALSO_AT = 2;
const DOC = 4;
const HERITAGE = 8;
const TYPE = 16;
const MEMBERS = 32;
const STATIC = 64;

function packDeclared(writer: ByteWriter, binding: Declared): void {
	writer.number(
		sharedFlags(binding) |
			(binding.doc === undefined ? 0 : DOC) |
			(binding.heritage ? HERITAGE : 0),
	);
	packShared(writer, binding);
	if (binding.doc !== undefined) writer.string(binding.doc);
	if (binding.heritage) packList(writer, binding.heritage, packTypeName);
	if (binding.type) packTypeName(writer, binding.type);
	if (binding.members) packList(writer, binding.members, packMember);
}

function unpackDeclared(reader: ByteReader, flags: number): Declared {
	return {
		kind: "declared",
		...unpackShared(reader, flags),
		...(flags & DOC ? { doc: reader.string() } : {}),
		...(flags & HERITAGE ? { heritage: list(reader, () => unpackTypeName(reader)) } : {}),
		...(flags & TYPE ? { type: unpackTypeName(reader) } : {}),
		...(flags & MEMBERS ? { members: list(reader, () => unpackMember(reader)) } : {}),
	};
}

function packMember(writer: ByteWriter, member: Member): void {
	writer.number(sharedFlags(member) | (member.static ? STATIC : 0));
	packShared(writer, member);
	if (member.type) packTypeName(writer, member.type);
	if (member.members) packList(writer, member.members, packMember);
}

function unpackMember(reader: ByteReader): Member {
	const flags = reader.number();
	return {
		...unpackShared(reader, flags),
		static: (flags & STATIC) !== 0,
		...(flags & TYPE ? { type: unpackTypeName(reader) } : {}),
		...(flags & MEMBERS ? { members: list(reader, () => unpackMember(reader)) } : {}),
	};
}

/** What things declared and their members have in common. */
type Shared = Pick<Declared, "name" | "symbol" | "at" | "alsoAt" | "endLine" | "signature">;

function sharedFlags(thing: Declared | Member): number {
	return (thing.alsoAt ? ALSO_AT : 0) | (thing.type ? TYPE : 0) | (thing.members ? MEMBERS : 0);
}

function packShared(writer: ByteWriter, thing: Shared): void {
	writer.string(thing.name);
	writer.number(symbolKinds.indexOf(thing.symbol));
	packPosition(writer, thing.at);
	writer.signed(thing.endLine - thing.at[0]);
	packSignature(writer, thing);
	if (thing.alsoAt) packList(writer, thing.alsoAt, packPosition);
}

function unpackShared(reader: ByteReader, flags: number): Shared {
	const name = reader.string();
	const symbol = symbolKinds[reader.number()];
	if (!symbol) throw new MalformedBytes("an unknown kind of symbol");
	const at = unpackPosition(reader);
	const endLine = at[0] + reader.signed();
	const signature = unpackSignature(reader, name);
	if (!(flags & ALSO_AT)) return { name, symbol, at, endLine, signature };
	return {
		name,
		symbol,
		at,
		alsoAt: list(reader, () => unpackPosition(reader)),
		endLine,
		signature,
	};
}

/** Nearly every signature holds the name, and short ones little else: what stands around it is written. */
function packSignature(writer: ByteWriter, { name, signature }: Shared): void {
	const place = name === "" ? -1 : signature.indexOf(name);
	writer.number(place + 1);
	writer.string(
		place < 0 ? signature : signature.slice(0, place) + signature.slice(place + name.length),
	);
}

function unpackSignature(reader: ByteReader, name: string): string {
	const place = reader.number() - 1;
	const rest = reader.string();
	return place < 0 ? rest : rest.slice(0, place) + name + rest.slice(place);
}

const INSTANCE = 1;
const PATH = 2;

function packTypeName(writer: ByteWriter, { binding, side, path }: TypeName): void {
	writer.number((side === "instance" ? INSTANCE : 0) | (path ? PATH : 0));
	writer.number(binding);
	if (path) packList(writer, path, packStep);
}

function unpackTypeName(reader: ByteReader): TypeName {
	const flags = reader.number();
	const binding = reader.number();
	const side = flags & INSTANCE ? "instance" : "value";
	return flags & PATH
		? { binding, side, path: list(reader, () => unpackStep(reader)) }
		: { binding, side };
}

const CALLED = 1;
const AT = 2;

function packStep(writer: ByteWriter, { name, at, called }: Step): void {
	writer.number((called ? CALLED : 0) | (at ? AT : 0));
	writer.string(name);
	if (at) packPosition(writer, at);
}

function unpackStep(reader: ByteReader): Step {
	const flags = reader.number();
	return {
		name: reader.string(),
		...(flags & AT ? { at: unpackPosition(reader) } : {}),
		...(flags & CALLED ? { called: true as const } : {}),
	};
}

/** A position in two numbers. */
export function packPosition(writer: ByteWriter, [line, column]: Position): void {
	writer.number(line);
	writer.number(column);
}

export function unpackPosition(reader: ByteReader): Position {
	return [reader.number(), reader.number()];
}

/** A list with its length before it. */
export function packList<T>(
	writer: ByteWriter,
	items: readonly T[],
	pack: (writer: ByteWriter, item: T) => void,
): void {
	writer.number(items.length);
	for (const item of items) pack(writer, item);
}

export function list<T>(reader: ByteReader, unpack: () => T): T[] {
	const items: T[] = [];
	for (let left = reader.count(); left > 0; left--) items.push(unpack());
	return items;
}
