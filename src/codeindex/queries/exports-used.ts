import { compareText } from "../../core/compare-text.ts";
import type { SymbolKind } from "../facts.ts";
import { linkerOf, usagesOfSymbol } from "../link/index.ts";
import type { FileId, IndexedFile, IndexReader } from "../reader.ts";

/** An export of a file, and where else it is used. */
export interface UsedExport {
	readonly path: string;
	/** The name it is exported by. */
	readonly name: string;
	readonly kind: SymbolKind;
	/** The other files that name it, with whether they do more than import it or pass it on. */
	readonly files: ReadonlyMap<FileId, boolean>;
	/** Uses in other files, imports and re-exports left out. */
	readonly usages: number;
}

/** The exports of some files that are declared there, the most used first; with `names` only those. */
export function exportsUsed(
	reader: IndexReader,
	files: readonly IndexedFile[],
	names?: readonly string[],
): readonly UsedExport[] {
	const wanted = names && new Set(names);
	const found: UsedExport[] = [];
	for (const file of files) {
		const { byName } = linkerOf(reader).ownExports(file.id);
		const bindings = reader.bindings(file.id);
		for (const [name, one] of byName) {
			const declared = one.kind === "local" ? bindings[one.binding] : undefined;
			if (one.kind !== "local" || declared?.kind !== "declared") continue;
			if (wanted && !wanted.has(name) && !wanted.has(declared.name)) continue;
			found.push({
				path: file.path,
				name,
				kind: declared.symbol,
				...usesElsewhere(reader, file.id, one.binding),
			});
		}
	}
	return found.sort((a, b) => b.files.size - a.files.size || b.usages - a.usages || compare(a, b));
}

function usesElsewhere(
	reader: IndexReader,
	file: FileId,
	binding: number,
): Pick<UsedExport, "files" | "usages"> {
	const files = new Map<FileId, boolean>();
	let usages = 0;
	usagesOfSymbol(linkerOf(reader), { kind: "declared", file, binding }).each((user, _, kind) => {
		if (user === file) return;
		const isUse = kind !== "import" && kind !== "re-export";
		if (isUse) usages++;
		files.set(user, isUse || (files.get(user) ?? false));
	});
	return { files, usages };
}

function compare(a: UsedExport, b: UsedExport): number {
	return compareText(a.path, b.path) || compareText(a.name, b.name);
}
