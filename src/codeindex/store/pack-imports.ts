import type { Imported } from "../facts.ts";
import { ByteReader, type ByteWriter } from "./bytes.ts";
import { packPosition, unpackPosition } from "./pack-bindings.ts";

/** An import binding as it is stored under the file and the name it asks for. */
export interface ImportEntry {
	readonly binding: number;
	readonly as: Imported;
	readonly isExported: boolean;
}

const EXPORTED = 1;
const TYPE_ONLY = 2;
const IMPORTED_AT = 4;
const SAME_NAME = 8;

/** Imports of one file that ask for the same name of the same file; the name itself is the row's key. */
export function packImports(writer: ByteWriter, entries: readonly ImportEntry[]): void {
	for (const { binding, as, isExported } of entries) {
		const isSameName = as.name === as.imported;
		writer.number(
			(isExported ? EXPORTED : 0) |
				(as.typeOnly ? TYPE_ONLY : 0) |
				(as.importedAt ? IMPORTED_AT : 0) |
				(isSameName ? SAME_NAME : 0),
		);
		writer.number(binding);
		writer.number(as.request);
		if (!isSameName) writer.string(as.name);
		packPosition(writer, as.at);
		if (as.importedAt) packPosition(writer, as.importedAt);
	}
}

export function unpackImports(bytes: Uint8Array, imported: string): ImportEntry[] {
	const reader = new ByteReader(bytes);
	const entries: ImportEntry[] = [];
	while (!reader.isAtEnd) {
		const flags = reader.number();
		const binding = reader.number();
		const request = reader.number();
		const name = flags & SAME_NAME ? imported : reader.string();
		const typeOnly = (flags & TYPE_ONLY) !== 0;
		const at = unpackPosition(reader);
		const as: Imported =
			flags & IMPORTED_AT
				? {
						kind: "imported",
						name,
						request,
						imported,
						typeOnly,
						at,
						importedAt: unpackPosition(reader),
					}
				: { kind: "imported", name, request, imported, typeOnly, at };
		entries.push({ binding, as, isExported: (flags & EXPORTED) !== 0 });
	}
	return entries;
}
