import { stemsOf } from "../../../src/codeindex/extract/symbol-words.ts";
import type { FileId, IndexReader } from "../../../src/codeindex/index-reader.ts";

/** Everything a reader can tell, with paths for ids, so that two indexes of one tree can be compared. */
export function dumpIndex(reader: IndexReader): unknown {
	const path = (id: FileId) => reader.files.get(id)?.path ?? `gone ${id}`;
	const names = new Set<string>();
	const perFile = [...reader.files.values()]
		.sort((one, other) => (one.path < other.path ? -1 : 1))
		.map(({ id, ...file }) => {
			const bindings = reader.bindings(id);
			for (const { name } of bindings) names.add(name);
			const exports = reader.exports(id);
			for (const one of exports) if (one.kind !== "star") names.add(one.name);
			const references = bindings.map((_, binding) => reader.references({ file: id, binding }));
			for (const reference of references.flat()) {
				for (const step of reference.steps ?? []) names.add(step.name);
			}
			for (const binding of bindings) {
				if (binding.kind !== "declared") continue;
				for (const member of binding.members ?? []) names.add(member.name);
			}
			return {
				...file,
				bindings,
				exports,
				references,
				requests: reader.requests(id),
				resolutions: reader
					.resolutions(id)
					.map((one) => (one.kind === "file" ? { ...one, file: path(one.file) } : one)),
				dependencies: sorted(
					reader.dependencies(id).map((edge) => ({ ...edge, file: path(edge.file) })),
				),
				dependents: sorted(
					reader.dependents(id).map((edge) => ({ ...edge, file: path(edge.file) })),
				),
				exportsFrom: sorted(
					reader.exportsFrom(id).map((one) => ({ ...one, file: path(one.file) })),
				),
				imports: [...bindings.map(({ name }) => name), "*", "=", "default"].map((name) =>
					sorted(reader.importsOf(id, name).map((one) => ({ ...one, file: path(one.file) }))),
				),
			};
		});
	const perName = [...names].sort().map((name) => ({
		name,
		named: sorted(reader.named(name).map((one) => ({ ...one, file: path(one.file) }))),
		accessing: sorted(reader.accessing(name).map((one) => ({ ...one, file: path(one.file) }))),
		loose: sorted([...reader.looseAccesses(name)].map(([id, count]) => [path(id), count])),
		like: reader.namesLike(name.slice(0, 3), 20),
		// Which, not in what order: SQLite counts rows that are gone when it says how rare a word is.
		matching: reader
			.matching([name.toLowerCase()], 100)
			.map(({ file }) => path(file))
			.sort(),
		declaring: stemsOf(name).map((stem) => reader.declaring(stem).map(path).sort()),
	}));
	const unresolved = sorted(reader.unresolved().map((one) => ({ ...one, file: path(one.file) })));
	return { perFile, perName, unresolved };
}

function sorted(items: readonly unknown[]): string[] {
	return items.map((item) => JSON.stringify(item)).sort();
}
