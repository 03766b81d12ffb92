import { edgeKinds } from "../../text/kinds.ts";
import type { EdgeKind, Export, Request } from "../facts.ts";
import type { FileId, Resolution } from "../reader.ts";
import { type ByteReader, type ByteWriter, MalformedBytes } from "./bytes.ts";
import { list, packList, packPosition, unpackPosition } from "./pack-bindings.ts";

/** The kinds as bits of one number. */
export function kindBits(kinds: readonly EdgeKind[]): number {
	return kinds.reduce((bits, kind) => bits | (1 << edgeKinds.indexOf(kind)), 0);
}

/** The kinds of a number's bits, in a fixed order; equal numbers give the same list. */
export function kindsOf(bits: number): readonly EdgeKind[] {
	return KINDS_OF[bits] ?? [];
}

const KINDS_OF = Array.from({ length: 1 << edgeKinds.length }, (_, bits) =>
	edgeKinds.filter((_, place) => bits & (1 << place)),
);

/** The modules that a file asks for. The kinds of each come back in a fixed order. */
export function packRequests(writer: ByteWriter, requests: readonly Request[]): void {
	packList(writer, requests, (_, { specifier, kinds, at }) => {
		writer.number(kindBits(kinds));
		writer.string(specifier);
		packPosition(writer, at);
	});
}

export function unpackRequests(reader: ByteReader): Request[] {
	return list(reader, () => {
		const kinds = kindsOf(reader.number());
		return { specifier: reader.string(), kinds, at: unpackPosition(reader) };
	});
}

const FILE = 0;
const EXTERNAL = 1;
const UNRESOLVED = 2;

/** Where the requests lead, in their order. */
export function packResolutions(writer: ByteWriter, resolutions: readonly Resolution[]): void {
	packList(writer, resolutions, (_, resolution) => {
		if (resolution.kind === "file") writer.number(resolution.file * 4 + FILE);
		else if (resolution.kind === "external") {
			writer.number(EXTERNAL);
			writer.string(resolution.name);
		} else {
			writer.number(UNRESOLVED);
			writer.string(resolution.reason);
		}
	});
}

export function unpackResolutions(reader: ByteReader): Resolution[] {
	return list(reader, (): Resolution => {
		const head = reader.number();
		if (head % 4 === FILE) return { kind: "file", file: Math.floor(head / 4) as FileId };
		if (head === EXTERNAL) return { kind: "external", name: reader.string() };
		if (head === UNRESOLVED) return { kind: "unresolved", reason: reader.string() };
		throw new MalformedBytes("an unknown kind of resolution");
	});
}

const LOCAL = 0;
const FROM = 1;
const STAR = 2;
const TYPE_ONLY = 4;
const POSITIONS = 8;

export function packExports(writer: ByteWriter, exports: readonly Export[]): void {
	packList(writer, exports, (_, item) => {
		const kind = item.kind === "local" ? LOCAL : item.kind === "from" ? FROM : STAR;
		const at = item.kind === "star" ? undefined : item.at;
		writer.number(kind | (item.typeOnly ? TYPE_ONLY : 0) | (at ? POSITIONS : 0));
		if (item.kind === "star") {
			writer.number(item.request);
			return;
		}
		writer.string(item.name);
		if (item.kind === "local") writer.number(item.binding);
		else {
			writer.number(item.request);
			writer.string(item.imported);
		}
		if (at) packList(writer, at, packPosition);
	});
}

export function unpackExports(reader: ByteReader): Export[] {
	return list(reader, (): Export => {
		const flags = reader.number();
		const typeOnly = (flags & TYPE_ONLY) !== 0;
		const positions = () => (flags & POSITIONS ? list(reader, () => unpackPosition(reader)) : []);
		switch (flags & 3) {
			case STAR:
				return { kind: "star", request: reader.number(), typeOnly };
			case FROM: {
				const name = reader.string();
				const request = reader.number();
				const imported = reader.string();
				return { kind: "from", name, request, imported, at: positions(), typeOnly };
			}
			case LOCAL: {
				const name = reader.string();
				const binding = reader.number();
				if (!(flags & POSITIONS)) return { kind: "local", name, binding, typeOnly };
				return { kind: "local", name, binding, at: positions(), typeOnly };
			}
			default:
				throw new MalformedBytes("an unknown kind of export");
		}
	});
}
