import type { Reference } from "../facts.ts";
import type { FileId } from "../reader.ts";
import type { DeclaredEntity } from "./entity.ts";
import type { Linker } from "./linker.ts";
import { Places } from "./places.ts";
import { type ExportRef, visitWays } from "./ways.ts";

/** Every use of something declared at the top level, further merged declarations included. */
export function usagesOfSymbol(linker: Linker, symbol: DeclaredEntity): Places {
	const declared = linker.reader.bindings(symbol.file)[symbol.binding];
	if (declared?.kind !== "declared") return new Places();
	const places = new Places({ file: symbol.file, at: declared.at });
	for (const at of declared.alsoAt ?? []) places.add(symbol.file, at, "declaration");
	addUsages(linker, symbol, places);
	return places;
}

/** Every use of a name that a file exports or passes on, by those that ask this file for it. */
export function usagesOfExport(linker: Linker, file: FileId, name: string): Places {
	const places = new Places();
	addUsages(linker, { kind: "export", file, name }, places);
	return places;
}

/** The other files that import a symbol, or name it in a namespace that they import. Quick for plain imports. */
export function importersOfSymbol(linker: Linker, symbol: DeclaredEntity): ReadonlySet<FileId> {
	const importers = new Set<FileId>();
	visitWays(linker, symbol, {
		bindings(all, path, references = []) {
			for (const [index, at] of all.entries()) {
				const isImporter =
					path.length === 0 ? "as" in at : references[index]?.some((one) => leadsAlong(one, path));
				if (isImporter) importers.add(at.file);
			}
		},
		exported() {},
		counterpart() {},
	});
	importers.delete(symbol.file);
	return importers;
}

function addUsages(linker: Linker, start: DeclaredEntity | ExportRef, places: Places): void {
	const { reader } = linker;
	visitWays(linker, start, {
		bindings(all, path, known) {
			const references = known ?? reader.referencesOfAll(all);
			for (const [index, at] of all.entries()) {
				// An import without a name, such as `require("x")` in an expression, names nothing.
				if (path.length === 0 && "as" in at && at.as.name !== "") {
					places.add(at.file, at.as.at, "import");
					if (at.as.importedAt) places.add(at.file, at.as.importedAt, "import");
				}
				for (const one of references[index] ?? []) addReference(places, at.file, one, path);
			}
		},
		exported(file, all) {
			for (const at of all) places.add(file, at, "re-export");
		},
		counterpart({ file, binding }) {
			const declared = reader.bindings(file)[binding];
			if (declared?.kind !== "declared") return;
			for (const at of [declared.at, ...(declared.alsoAt ?? [])]) {
				places.add(file, at, "declaration");
			}
		},
	});
}

function addReference(
	places: Places,
	file: FileId,
	reference: Reference,
	path: readonly string[],
): void {
	if (!leadsAlong(reference, path)) return;
	const { usage, steps = [] } = reference;
	const at = path.length === 0 ? reference.at : steps[path.length - 1]?.at;
	if (at) places.add(file, at, steps.length === path.length ? usage : "read");
}

/** Whether the names of `path` come right after the binding, with nothing called in between. */
function leadsAlong({ side, steps = [] }: Reference, path: readonly string[]): boolean {
	if (path.length === 0) return true;
	return (
		side !== "instance" &&
		path.every((name, index) => {
			const step = steps[index];
			return step?.name === name && (index === path.length - 1 || !step.called);
		})
	);
}
