import type { Export, FileFacts, Member } from "../../../src/codeindex/facts.ts";
import type {
	Edge,
	FileId,
	IndexedFile,
	IndexReader,
	Resolution,
} from "../../../src/codeindex/index-reader.ts";

const ORDER = ["value", "type", "re-export", "dynamic", "require", "side-effect"] as const;

/** A file as a test gives it. */
export interface MemoryFile {
	readonly file: IndexedFile;
	readonly facts: FileFacts;
	readonly resolutions: readonly Resolution[];
}

type WithoutText = Omit<IndexReader, "matching" | "declaring">;

/** What {@link IndexReader} promises, by looking through everything. Full text is not part of it. */
export function memoryReader(all: readonly MemoryFile[]): WithoutText {
	const byId = new Map(all.map((one) => [one.file.id, one]));
	const facts = (file: FileId) => byId.get(file)?.facts;
	const edges = (from: MemoryFile): Edge[] => {
		const kinds = new Map<FileId, Set<Edge["kinds"][number]>>();
		from.resolutions.forEach((resolution, index) => {
			if (resolution.kind !== "file" || !byId.has(resolution.file)) return;
			const found = kinds.get(resolution.file) ?? new Set();
			for (const kind of from.facts.requests[index]?.kinds ?? []) found.add(kind);
			kinds.set(resolution.file, found);
		});
		return [...kinds].map(([file, found]) => ({
			file,
			kinds: ORDER.filter((kind) => found.has(kind)),
		}));
	};
	const memberNames = (members: readonly Member[] = []): string[] =>
		members.flatMap((member) => [member.name, ...memberNames(member.members)]);
	const reader: WithoutText = {
		files: new Map(all.map(({ file }) => [file.id, file])),
		shape: {},
		fileAt: (path) => all.find(({ file }) => file.path === path)?.file,
		bindings: (file) => facts(file)?.bindings ?? [],
		exports: (file) => facts(file)?.exports ?? [],
		references: ({ file, binding }) =>
			facts(file)?.references.filter((reference) => reference.binding === binding) ?? [],
		referencesOfAll: (places) => places.map((at) => reader.references(at)),
		looseAccesses: (name) =>
			new Map(
				all.flatMap(({ file, facts }) => {
					const count = facts.looseAccesses.get(name);
					return count === undefined ? [] : [[file.id, count] as const];
				}),
			),
		resolutions: (file) => byId.get(file)?.resolutions ?? [],
		requests: (file) => facts(file)?.requests ?? [],
		unresolved: () =>
			all.flatMap(({ file, facts, resolutions }) =>
				facts.requests.flatMap(({ specifier }, index) =>
					resolutions[index]?.kind === "unresolved" ? [{ file: file.id, specifier }] : [],
				),
			),
		dependencies: (file) => {
			const from = byId.get(file);
			return from ? edges(from) : [];
		},
		dependents: (target) =>
			all.flatMap((from) =>
				edges(from).flatMap(({ file, kinds }) =>
					file === target ? [{ file: from.file.id, kinds }] : [],
				),
			),
		importsOf: (target, imported) =>
			all.flatMap(({ file, facts, resolutions }) =>
				facts.bindings.flatMap((as, binding) => {
					if (as.kind !== "imported" || as.imported !== imported) return [];
					const resolution = resolutions[as.request];
					if (resolution?.kind !== "file" || resolution.file !== target) return [];
					const isExported = facts.exports.some(
						(one) => one.kind === "local" && one.binding === binding,
					);
					return [{ file: file.id, binding, as, isExported }];
				}),
			),
		exportsFrom: (target) =>
			all.flatMap(({ file, facts, resolutions }) =>
				facts.exports.flatMap((one: Export) => {
					if (one.kind === "local") return [];
					const resolution = resolutions[one.request];
					if (resolution?.kind !== "file" || resolution.file !== target) return [];
					return [{ file: file.id, export: one }];
				}),
			),
		named: (name) =>
			all.flatMap(({ file, facts }) =>
				facts.bindings.flatMap((one, binding) => {
					if (one.kind !== "declared") return [];
					const own = one.name === name ? [{ file: file.id, binding, isMember: false }] : [];
					const isInside = memberNames(one.members).includes(name);
					return isInside ? [...own, { file: file.id, binding, isMember: true }] : own;
				}),
			),
		namesLike: (part, limit) => {
			const names = new Set(
				all.flatMap(({ facts }) =>
					facts.bindings.flatMap((one) =>
						one.kind === "declared" ? [one.name, ...memberNames(one.members)] : [],
					),
				),
			);
			const wanted = part.toLowerCase();
			const place = (name: string) =>
				name.toLowerCase() === wanted ? 0 : name.toLowerCase().startsWith(wanted) ? 1 : 2;
			return [...names]
				.filter((name) => name.toLowerCase().includes(wanted))
				.sort(
					(one, other) =>
						place(one) - place(other) || one.length - other.length || (one < other ? -1 : 1),
				)
				.slice(0, limit);
		},
		accessing: (name) =>
			all.flatMap(({ file, facts }) =>
				facts.references
					.filter(({ steps }) => steps?.some((step) => step.name === name))
					.map((reference) => ({ file: file.id, binding: reference.binding, reference })),
			),
	};
	return reader;
}
