import { declaredStems, stemsOf } from "../../src/codeindex/extract/symbol-words.ts";
import type { EdgeKind, Export, FileFacts, Member, Reference } from "../../src/codeindex/facts.ts";
import type {
	BindingRef,
	Edge,
	FileId,
	ImportOf,
	IndexedFile,
	IndexReader,
	Resolution,
	TextMatch,
} from "../../src/codeindex/index-reader.ts";

/** Where a specifier leads, in paths. */
export type Target =
	| { readonly kind: "file"; readonly path: string }
	| { readonly kind: "external"; readonly name: string }
	| { readonly kind: "unresolved"; readonly reason: string };

/** What an index in memory is made of. */
export interface MemoryFile {
	readonly path: string;
	readonly facts: FileFacts;
	/** By the index of the request. */
	readonly targets: readonly Target[];
	/** Words for full text search. */
	readonly words?: readonly string[];
	readonly isTest?: boolean;
	/** Default: 40 a line. */
	readonly bytes?: number;
}

/** A reader over facts in memory, to try linking and queries without a store. */
export function memoryReader(sources: readonly MemoryFile[]): IndexReader {
	const ids = new Map(sources.map(({ path }, index) => [path, index as FileId]));
	const of = (id: FileId): MemoryFile => sources[id] as MemoryFile;
	const indexed = new Map(sources.map((file, index) => [index as FileId, toIndexed(file, index)]));
	const resolutions = sources.map((file) =>
		file.targets.map((target) => toResolution(target, ids)),
	);
	const graph = edgesOf(sources, resolutions);
	const everyBinding = function* () {
		for (const [id, file] of indexed) {
			for (const binding of of(file.id).facts.bindings.keys()) yield { file: id, binding };
		}
	};
	const declarations = function* () {
		for (const at of everyBinding()) {
			const declared = of(at.file).facts.bindings[at.binding];
			if (declared?.kind !== "declared") continue;
			yield { ...at, name: declared.name, isMember: false };
			for (const name of memberNames(declared.members)) yield { ...at, name, isMember: true };
		}
	};
	const byBinding = sources.map(({ facts }) => Map.groupBy(facts.references, (one) => one.binding));
	const references = (at: BindingRef): readonly Reference[] =>
		byBinding[at.file]?.get(at.binding) ?? [];
	const byStep = new Map<string, (BindingRef & { reference: Reference })[]>();
	for (const [id, { facts }] of sources.entries()) {
		for (const reference of facts.references) {
			for (const name of new Set(reference.steps?.map((step) => step.name))) {
				const found = { file: id as FileId, binding: reference.binding, reference };
				const others = byStep.get(name);
				if (others) others.push(found);
				else byStep.set(name, [found]);
			}
		}
	}

	return {
		files: indexed,
		shape: {},
		fileAt: (path) => indexed.get(ids.get(path) as FileId),
		bindings: (file) => of(file).facts.bindings,
		exports: (file) => of(file).facts.exports,
		references,
		referencesOfAll: (all) => all.map(references),
		looseAccesses: (name) =>
			new Map(
				[...indexed.keys()].flatMap((id) => {
					const count = of(id).facts.looseAccesses.get(name);
					return count ? [[id, count] as const] : [];
				}),
			),
		resolutions: (file) => resolutions[file] ?? [],
		requests: (file) => of(file).facts.requests,
		unresolved: () =>
			[...indexed.keys()].flatMap((file) =>
				of(file).facts.requests.flatMap(({ specifier }, index) =>
					resolutions[file]?.[index]?.kind === "unresolved" ? [{ file, specifier }] : [],
				),
			),
		dependencies: (file) => graph.forwards.get(file) ?? [],
		dependents: (file) => graph.backwards.get(file) ?? [],
		importsOf(file, imported) {
			const found: ImportOf[] = [];
			for (const at of everyBinding()) {
				const as = of(at.file).facts.bindings[at.binding];
				if (as?.kind !== "imported" || as.imported !== imported) continue;
				const target = resolutions[at.file]?.[as.request];
				if (target?.kind !== "file" || target.file !== file) continue;
				const isExported = of(at.file).facts.exports.some(
					(one) => one.kind === "local" && one.binding === at.binding,
				);
				found.push({ ...at, as, isExported });
			}
			return found;
		},
		exportsFrom(file) {
			const found: { file: FileId; export: Export }[] = [];
			for (const id of indexed.keys()) {
				for (const one of of(id).facts.exports) {
					const target = one.kind === "local" ? undefined : resolutions[id]?.[one.request];
					if (target?.kind === "file" && target.file === file)
						found.push({ file: id, export: one });
				}
			}
			return found;
		},
		named: (name) => {
			const found = [...declarations()].filter((one) => one.name === name);
			return found.map(({ file, binding, isMember }) => ({ file, binding, isMember }));
		},
		namesLike(part, limit) {
			const wanted = part.toLowerCase();
			const order = (name: string) =>
				name.toLowerCase() === wanted ? 0 : name.toLowerCase().startsWith(wanted) ? 1 : 2;
			return [...new Set([...declarations()].map(({ name }) => name))]
				.filter((name) => wanted !== "" && name.toLowerCase().includes(wanted))
				.sort((a, b) => order(a) - order(b) || a.length - b.length || (a < b ? -1 : 1))
				.slice(0, limit);
		},
		accessing: (name) => byStep.get(name) ?? [],
		matching: (words, limit) => matching(sources, words).slice(0, limit),
		declaring: (stem) =>
			[...indexed.values()].flatMap(({ id, path }) => {
				const has = [...stemsOf(path), ...declaredStems(of(id).facts)].includes(stem);
				return has ? [id] : [];
			}),
	};
}

function toIndexed({ path, facts, isTest, bytes }: MemoryFile, index: number): IndexedFile {
	return {
		id: index as FileId,
		path,
		bytes: bytes ?? facts.lines * 40,
		lines: facts.lines,
		isTest: isTest ?? /\.(test|spec)\.|(^|\/)tests?\//.test(path),
		isModule: facts.isModule,
		...(facts.problem !== undefined && { problem: facts.problem }),
	};
}

function toResolution(target: Target, ids: ReadonlyMap<string, FileId>): Resolution {
	if (target.kind !== "file") return target;
	const file = ids.get(target.path);
	if (file === undefined) throw new Error(`${target.path} is not among the files`);
	return { kind: "file", file };
}

function edgesOf(sources: readonly MemoryFile[], resolutions: readonly (readonly Resolution[])[]) {
	const forwards = new Map<FileId, Edge[]>();
	const backwards = new Map<FileId, Edge[]>();
	for (const [index, { facts }] of sources.entries()) {
		const kinds = new Map<FileId, Set<EdgeKind>>();
		for (const [at, request] of facts.requests.entries()) {
			const target = resolutions[index]?.[at];
			if (target?.kind !== "file" || request.kinds.length === 0) continue;
			kinds.set(target.file, new Set([...(kinds.get(target.file) ?? []), ...request.kinds]));
		}
		for (const [file, found] of kinds) {
			push(forwards, index as FileId, { file, kinds: [...found] });
			push(backwards, file, { file: index as FileId, kinds: [...found] });
		}
	}
	return { forwards, backwards };
}

function push(map: Map<FileId, Edge[]>, key: FileId, edge: Edge): void {
	map.set(key, [...(map.get(key) ?? []), edge]);
}

function* memberNames(members: readonly Member[] = []): Generator<string> {
	for (const member of members) {
		yield member.name;
		yield* memberNames(member.members);
	}
}

/** Files that have the most of the words, by how often: a stand-in for BM25. */
function matching(sources: readonly MemoryFile[], words: readonly string[]): TextMatch[] {
	return sources
		.map(({ words: own = [] }, index) => {
			const parts = words.flatMap((word) => word.split(" "));
			const hits = parts.map((part) => own.filter((one) => one.startsWith(part)).length);
			const rank = hits.reduce((sum, count) => sum - (count > 0 ? 10 + count : 0), 0);
			return { file: index as FileId, rank };
		})
		.filter(({ rank }) => rank < 0)
		.sort((a, b) => a.rank - b.rank || a.file - b.file);
}
