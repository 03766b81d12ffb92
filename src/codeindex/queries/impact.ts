import { folderOf, joinPath, nameOf } from "../../core/project-path.ts";
import { counted } from "../../text/figures.ts";
import type { ImpactAnswer, ImpactQuery, Uncovered } from "../answers.ts";
import type { FileId, IndexedFile, IndexReader } from "../index-reader.ts";
import { dependenciesOf, dependentsOf, pairsOf } from "../link/modules.ts";
import { byUse, changedExports, exportsUsed, firstFew, type UsedExport } from "./exports-used.ts";
import { byPath, cyclesAmong, type Reached, reach, toFileAtDepth } from "./graph.ts";
import { hintFor, isGlobalFile, isOutside, knownFile } from "./known-file.ts";
import { reachedThrough } from "./symbol-reach.ts";
import { type TestOf, testsOf } from "./tests-of.ts";

/** Throws if every path is unknown or outside the project. */
export function impact(reader: IndexReader, query: ImpactQuery): Uncovered<ImpactAnswer> {
	const { symbols } = query;
	const create = (query.create ?? []).filter((path) => !isOutside(path));
	const deleted = known(reader, query.delete);
	const modified = known(reader, query.modify).filter((file) => !deleted.includes(file));
	const changed = [...new Set([...modified, ...deleted])];
	const isChanged = new Set(changed.map(({ id }) => id));
	const [first] = [query.modify, query.delete, query.create].flatMap((paths) => paths ?? []);
	if (changed.length + create.length === 0 && first !== undefined) knownFile(reader, first);

	const named = symbols && changedExports(reader, { modified, deleted, names: symbols });
	const whole = named ? [...new Set([...named.whole, ...deleted])] : changed;
	const used = [...(named?.used ?? []), ...exportsUsed(reader, whole)].sort(byUse);
	const dependents = reach(reader, changed, { direction: "dependents" });
	const affected = named
		? affectedBySymbols(reader, isChanged, { used: named.used, whole })
		: dependents;
	const reaching = testsOf(reader, changed, dependents);
	const tests = named ? testsAmong(reaching, affected) : reaching;
	const warnings = impactWarnings(reader, query);
	// Whole files that are changed are in both figures alike.
	const ofFiles = named &&
		named.used.length > 0 && { files: dependents.length, tests: reaching.length };
	return {
		...assessRisk({
			...{ changed, created: create.length, affected, used, tests, warnings },
			...(ofFiles && { ofFiles }),
		}),
		affected: affected.map(toFileAtDepth),
		symbols: used.map(({ users: _, places: __, ...one }) => one),
		tests: tests.map(({ file, depth, via }) => ({ path: file.path, depth, via })),
		warnings: [...(named?.warnings ?? []), ...warnings.all],
	};
}

function known(reader: IndexReader, paths: readonly string[] = []): IndexedFile[] {
	return paths.flatMap((path) => reader.fileAt(path) ?? []);
}

/**
 * Follows the symbols, not their files: what uses them, what uses the symbols around those uses, and so
 * on. A file that only re-exports a symbol is affected, but does not propagate the change.
 */
function affectedBySymbols(
	reader: IndexReader,
	isChanged: ReadonlySet<FileId>,
	{ used, whole }: { used: readonly UsedExport[]; whole: readonly IndexedFile[] },
): readonly Reached[] {
	const users = new Map<FileId, boolean>();
	for (const [id, uses] of used.flatMap((one) => [...one.users()])) {
		users.set(id, uses || users.get(id) === true);
	}
	const direct = [...users.keys()].flatMap((id): Reached[] => {
		const file = reader.files.get(id);
		if (!file || isChanged.has(id)) return [];
		const edge = dependenciesOf(reader, id).find((one) => isChanged.has(one.file));
		return [{ file, depth: 1, kinds: edge?.kinds ?? ["value"] }];
	});
	const places = used.flatMap(({ places }) =>
		places().map((place) => ({ ...place, depth: isChanged.has(place.file) ? 0 : 1 })),
	);
	return nearest([
		...direct,
		...reachedThrough(reader, places),
		...reach(reader, whole, { direction: "dependents" }),
	]).filter(({ file }) => !isChanged.has(file.id));
}

function nearest(reached: readonly Reached[]): readonly Reached[] {
	const found = new Map<FileId, Reached>();
	for (const one of reached) {
		const known = found.get(one.file.id);
		if (!known || one.depth < known.depth) found.set(one.file.id, one);
	}
	return [...found.values()].sort((a, b) => a.depth - b.depth || byPath(a.file, b.file));
}

/** Drops tests that import a changed file but reach no changed symbol. */
function testsAmong(tests: readonly TestOf[], affected: readonly Reached[]): readonly TestOf[] {
	const reached = new Map(affected.map(({ file, depth }) => [file.id, depth]));
	return tests.flatMap((test) => {
		const depth = reached.get(test.file.id);
		if (depth !== undefined) return [{ ...test, depth }];
		return test.via === "name" ? [test] : [];
	});
}

interface ChangeFacts {
	readonly changed: readonly IndexedFile[];
	readonly created: number;
	readonly affected: readonly Reached[];
	readonly used: readonly UsedExport[];
	readonly tests: readonly TestOf[];
	readonly warnings: ReturnType<typeof impactWarnings>;
	/** If only some symbols change: what a change of their whole files would reach. */
	readonly ofFiles?: { readonly files: number; readonly tests: number };
}

/** The thresholds are rules of thumb. */
function assessRisk(change: ChangeFacts): Pick<ImpactAnswer, "risk" | "summary"> {
	const reasons = reasonsOf(change);
	const weight = reasons.reduce((sum, reason) => sum + reason.weight, 0);
	const risk = weight >= 3 ? "high" : weight >= 1 ? "medium" : "low";
	const because = reasons.map(({ text }) => text).join("; ") || "little rests on it";
	return { risk, summary: `${reachOf(change)} Risk ${risk}: ${because}.` };
}

interface Reason {
	readonly weight: number;
	readonly text: string;
}

function reasonsOf({ changed, affected, used, tests, warnings }: ChangeFacts): Reason[] {
	const direct = affected.filter(({ depth }) => depth === 1).length;
	const [most] = used;
	const reasons: (Reason | false | undefined)[] = [
		warnings.brokenImports > 0 && {
			weight: 3,
			text: `${counted(warnings.brokenImports, "import")} will break`,
		},
		affected.length >= 15 && {
			weight: affected.length >= 100 ? 2 : 1,
			text: `${affected.length} files rest on it`,
		},
		direct >= 30 && { weight: 1, text: `${direct} of them directly` },
		most &&
			most.otherFiles >= 10 && {
				weight: 1,
				text: `${most.name} is used in ${most.otherFiles} other files`,
			},
		affected.length > 0 && tests.length === 0 && { weight: 1, text: "no test reaches it" },
		warnings.globalFiles > 0 && { weight: 1, text: "who uses its global names is not known" },
		changed.length === 0 && affected.length === 0 && { weight: 0, text: "nothing asks for it yet" },
	];
	return reasons.filter((reason) => reason !== undefined && reason !== false);
}

function reachOf({ changed, created, affected, tests, ofFiles }: ChangeFacts): string {
	const direct = affected.filter(({ depth }) => depth === 1).length;
	const files = counted(changed.length, "file");
	const what = [
		changed.length > 0 && (ofFiles ? `Changing these symbols of ${files}` : `Changing ${files}`),
		created > 0 && `creating ${counted(created, "file")}`,
	]
		.filter((text) => text !== false)
		.join(" and ");
	const reached =
		affected.length === 0
			? "reaches no other file"
			: `reaches ${counted(affected.length, "file")} (${direct} directly)`;
	const subject = `${what.charAt(0).toUpperCase()}${what.slice(1)}`;
	const whole = ofFiles
		? ` All of what they export reaches ${counted(ofFiles.files, "file")} and ${counted(ofFiles.tests, "test")}.`
		: "";
	return `${subject} ${reached} and ${counted(tests.length, "test")}.${whole}`;
}

function impactWarnings(reader: IndexReader, query: ImpactQuery) {
	const { modify = [], create = [], delete: remove = [] } = query;
	const broken = brokenImports(reader, remove);
	// Files whose top-level names are global. Uses of these names cannot be followed.
	const global = [...new Set([...modify, ...remove])].filter((path) => {
		const file = reader.fileAt(path);
		return file && isGlobalFile(reader, file);
	});
	return {
		all: [
			...[...modify, ...remove].flatMap((path) => unknownPath(reader, path)),
			...global.map(
				(path) => `${path}: this file's top level is global: uses in other files are not followed.`,
			),
			...broken.slice(0, MAX_LISTED),
			...(broken.length > MAX_LISTED
				? [`${counted(broken.length - MAX_LISTED, "more import")} will break.`]
				: []),
			...create.flatMap((path) => creationWarnings(reader, path)),
			...cyclesAmong(reader, known(reader, [...modify, ...remove])).map(
				(group) => `Import cycle of ${group.length} files: ${firstFew(group, 4)}.`,
			),
		],
		brokenImports: broken.length,
		globalFiles: global.length,
	};
}

const MAX_LISTED = 20;

function unknownPath(reader: IndexReader, path: string): string[] {
	if (reader.fileAt(path)) return [];
	if (isOutside(path)) return [outside(path)];
	return [[`${path} is not in the index.`, hintFor(reader, path)].filter(Boolean).join(" ")];
}

function outside(path: string): string {
	return `${path} is outside of the project.`;
}

function brokenImports(reader: IndexReader, remove: readonly string[]): string[] {
	const gone = new Set(remove.flatMap((path) => reader.fileAt(path)?.id ?? []));
	const pairs = pairsOf(reader);
	// An import loads the JavaScript file of a pair, so it breaks if that file is deleted.
	const breaks = (target: FileId) => gone.has(pairs.implementation(target) ?? target);
	const importers = new Map<FileId, IndexedFile>();
	for (const id of gone) {
		for (const { file } of dependentsOf(reader, id)) {
			const importer = reader.files.get(file);
			if (importer && !gone.has(file)) importers.set(file, importer);
		}
	}
	return [...importers.values()].sort(byPath).flatMap(({ id, path }) => {
		const resolutions = reader.resolutions(id);
		return reader.requests(id).flatMap(({ specifier, at }, index) => {
			const target = resolutions[index];
			if (target?.kind !== "file" || !breaks(target.file)) return [];
			return [`${path}:${at[0]} imports ${specifier}, which will be gone.`];
		});
	});
}

/** A new file can resolve imports that failed, or shadow another file of the same name. */
function creationWarnings(reader: IndexReader, path: string): string[] {
	if (reader.fileAt(path)) return [`${path} exists already.`];
	if (isOutside(path)) return [outside(path)];
	const stem = withoutExtension(path);
	const warnings: string[] = [];
	for (const other of shadowed(reader, path)) {
		const importers = dependentsOf(reader, other.id).filter(({ file }) =>
			importsWithoutExtension(reader, file, other, stem),
		);
		if (importers.length === 0) continue;
		warnings.push(
			`${path} may take the place of ${other.path} for ${counted(importers.length, "file")} asking for "${nameOf(stem)}".`,
		);
	}
	const fixed = new Set<string>();
	for (const { file, specifier } of reader.unresolved()) {
		const from = reader.files.get(file)?.path;
		if (from === undefined || !specifier.startsWith(".")) continue;
		const target = joinPath(folderOf(from), specifier);
		if (target !== undefined && withoutExtension(target) === stem) fixed.add(from);
	}
	if (fixed.size > 0) {
		const files = [...fixed].sort().slice(0, 3).join(", ");
		warnings.push(`${path} is asked for already, by ${counted(fixed.size, "file")}: ${files}.`);
	}
	return warnings;
}

function shadowed(reader: IndexReader, path: string): IndexedFile[] {
	const stem = withoutExtension(path);
	const extensions = ["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"];
	return (/\.d\.[cm]?ts$/.test(path) ? ["/index"] : ["", "/index"]).flatMap((middle) =>
		extensions.flatMap((extension) => reader.fileAt(`${stem}${middle}.${extension}`) ?? []),
	);
}

function importsWithoutExtension(
	reader: IndexReader,
	file: FileId,
	other: IndexedFile,
	stem: string,
): boolean {
	const resolutions = reader.resolutions(file);
	const name = nameOf(stem);
	const pair = pairsOf(reader).other(other.id);
	return reader.requests(file).some(({ specifier }, index) => {
		const target = resolutions[index];
		if (target?.kind !== "file" || (target.file !== other.id && target.file !== pair)) return false;
		return nameOf(specifier) === name;
	});
}

function withoutExtension(path: string): string {
	return path.replace(/\.(d\.)?[cm]?[jt]sx?$/, "");
}
