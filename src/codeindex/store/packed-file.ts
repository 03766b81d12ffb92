import { ByteReader, ByteWriter } from "../../core/bytes.ts";
import { declaredStems } from "../extract/symbol-words.ts";
import type { FileWords } from "../extract/words.ts";
import type { FileFacts, Member } from "../facts.ts";
import { exports, importedOnly, packBindings, requests } from "./records.ts";
import { packReferences } from "./references.ts";

/** Packed by the parser, so that processes exchange bytes, not objects. */
export interface PackedFile {
	readonly lines: number;
	readonly isModule: boolean;
	readonly problem?: string;
	readonly isSkeleton?: true;
	readonly symbols: number;
	readonly requests: Uint8Array;
	readonly bindings: Uint8Array;
	/** Only the imports; see `importedOnly`. Not stored, since `bindings` contains them too. */
	readonly imported: Uint8Array;
	readonly exports: Uint8Array;
	readonly references: Uint8Array;
	readonly names: Uint8Array;
	readonly text: FileWords;
	/** See `declaredStems`. */
	readonly stems: string;
}

export function packFile(facts: FileFacts, text: FileWords): PackedFile {
	const writer = new ByteWriter();
	const packed = (write: () => void): Uint8Array => {
		write();
		return writer.take();
	};
	const problem = facts.problem ?? (facts.status === "broken" ? "cannot be parsed" : undefined);
	const imported = facts.bindings.flatMap((binding, index) =>
		binding.kind === "imported" ? [[index, binding] as const] : [],
	);
	return {
		lines: facts.lines,
		isModule: facts.isModule,
		...(problem === undefined ? {} : { problem }),
		...(facts.isSkeleton && { isSkeleton: true }),
		symbols: facts.bindings.length - imported.length,
		requests: packed(() => requests(writer, facts.requests)),
		bindings: packBindings(facts.bindings),
		imported: packed(() => importedOnly(writer, imported)),
		exports: packed(() => exports(writer, facts.exports)),
		references: packed(() => packReferences(writer, facts.references)),
		names: packed(() => packNames(writer, facts)),
		text,
		stems: declaredStems(facts).join(" "),
	};
}

function packNames(writer: ByteWriter, facts: FileFacts): void {
	const declared = declarationsByName(facts);
	const accessed = accessesByName(facts);
	const names = new Set([...declared.keys(), ...accessed.keys(), ...facts.looseAccesses.keys()]);
	const part = new ByteWriter();
	const writePart = () => {
		writer.number(part.length);
		writer.append(part);
	};
	writer.number(names.size);
	for (const name of names) {
		writer.string(name);
		writeSet(part, declared.get(name));
		writePart();
		const loose = facts.looseAccesses.get(name) ?? 0;
		const bindings = accessed.get(name);
		if (loose > 0 || bindings) {
			part.number(loose);
			writeSet(part, bindings);
		}
		writePart();
	}
}

export function* unpackNames(bytes: Uint8Array) {
	const reader = new ByteReader(bytes);
	const part = () => {
		const length = reader.number();
		reader.at += length;
		return length === 0 ? undefined : bytes.subarray(reader.at - length, reader.at);
	};
	for (let left = reader.count(); left > 0; left--) {
		yield { name: reader.string(), declared: part(), mentioned: part() };
	}
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

/** Writes unique values in ascending order, as deltas. */
function writeSet(writer: ByteWriter, values: number[] = []): void {
	let last = -1;
	for (const value of values.sort((one, other) => one - other)) {
		if (value !== last) writer.number(value - Math.max(last, 0));
		last = value;
	}
}
