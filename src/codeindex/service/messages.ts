import { getOrAdd } from "../../core/get-or-add.ts";
import { isRecord } from "../../core/property.ts";
import type { FileAtDepth, Questions, Usage } from "../answers.ts";
import type { BuildReport, IndexStatus } from "../code-index.ts";
import type { EdgeKind, UsageKind } from "../facts.ts";

export interface IndexWorkerStart {
	readonly root: string;
	readonly database: string;
}

export interface Calls extends Questions {
	status: { query: undefined; answer: IndexStatus };
	build: { query: undefined; answer: BuildReport };
}

export type Method = keyof Calls;

/** `IndexProgress` messages precede the answer. */
export type IndexCall = {
	[M in Method]: { readonly method: M; readonly query: Calls[M]["query"] };
}[Method];

/**
 * Long lists become typed arrays and one string: as objects, 40,000 usages take 80 ms to post, half
 * of it in the caller's thread.
 */
export function toColumns(answer: unknown): unknown {
	const isLong = (list: unknown) => Array.isArray(list) && list.length >= WORTHWHILE;
	return withLists(answer, isLong, { usages: packUsages, files: packFiles });
}

export function fromColumns(sent: unknown): unknown {
	const isPacked = (list: unknown) => !Array.isArray(list);
	return withLists(sent, isPacked, { usages: unpackUsages, files: unpackFiles });
}

const WORTHWHILE = 200;
/** Never part of a path. */
const BETWEEN = "\0";
const FILE_LISTS = ["dependents", "dependencies", "affected", "impacted"];

function withLists(
	answer: unknown,
	isMeant: (list: unknown) => boolean,
	change: Record<"usages" | "files", (list: never) => unknown>,
): unknown {
	if (!isRecord(answer)) return answer;
	const changed = (what: "usages" | "files", list: unknown) =>
		isMeant(list) ? change[what](list as never) : list;
	const copy = { ...answer };
	for (const name of FILE_LISTS) if (name in copy) copy[name] = changed("files", copy[name]);
	if (Array.isArray(copy.definitions)) {
		copy.definitions = copy.definitions.map((one) => {
			return { ...one, usages: changed("usages", one.usages) };
		});
	}
	return copy;
}

interface UsageColumns {
	readonly paths: string;
	/** Per run: length, is test. */
	readonly runs: Int32Array;
	/** Per usage: line, column, kind. */
	readonly places: Int32Array;
	readonly kinds: readonly UsageKind[];
}

function packUsages(usages: readonly Usage[]): UsageColumns {
	const kinds = new Map<UsageKind, number>();
	const paths: string[] = [];
	const runs: number[] = [];
	const places = new Int32Array(usages.length * 3);
	let at = 0;
	for (const { path, line, column, kind, isTest } of usages) {
		if (paths.at(-1) !== path) {
			paths.push(path);
			runs.push(0, isTest ? 1 : 0);
		}
		runs[runs.length - 2] = (runs[runs.length - 2] as number) + 1;
		places[at++] = line;
		places[at++] = column;
		places[at++] = numberOf(kinds, kind);
	}
	return {
		paths: paths.join(BETWEEN),
		runs: Int32Array.from(runs),
		places,
		kinds: [...kinds.keys()],
	};
}

function unpackUsages({ paths, runs, places, kinds }: UsageColumns): Usage[] {
	const usages: Usage[] = [];
	let at = 0;
	for (const [run, path] of paths.split(BETWEEN).entries()) {
		const isTest = runs[run * 2 + 1] === 1;
		for (let left = runs[run * 2] as number; left > 0; left--) {
			const line = places[at++] as number;
			const column = places[at++] as number;
			usages.push({ path, line, column, kind: kinds[places[at++] as number] as UsageKind, isTest });
		}
	}
	return usages;
}

interface FileColumns {
	readonly paths: string;
	readonly vias: string;
	/** Per file: depth, kinds, is test, `via` or -1. */
	readonly numbers: Int32Array;
	readonly kinds: readonly (readonly EdgeKind[])[];
}

function packFiles(files: readonly FileAtDepth[]): FileColumns {
	const kindSets = new Map<string, number>();
	const vias = new Map<string, number>();
	const numbers = new Int32Array(files.length * 4);
	let at = 0;
	for (const { depth, kinds, isTest, via } of files) {
		numbers[at++] = depth;
		numbers[at++] = numberOf(kindSets, kinds.join(" "));
		numbers[at++] = isTest ? 1 : 0;
		numbers[at++] = via === undefined ? -1 : numberOf(vias, via);
	}
	return {
		paths: files.map(({ path }) => path).join(BETWEEN),
		vias: [...vias.keys()].join(BETWEEN),
		numbers,
		kinds: [...kindSets.keys()].map((set) => set.split(" ") as EdgeKind[]),
	};
}

function unpackFiles({ paths, vias, numbers, kinds }: FileColumns): FileAtDepth[] {
	const steps = vias.split(BETWEEN);
	return paths.split(BETWEEN).map((path, index) => {
		const at = index * 4;
		const file = {
			path,
			depth: numbers[at] as number,
			kinds: kinds[numbers[at + 1] as number] as readonly EdgeKind[],
			isTest: numbers[at + 2] === 1,
		};
		const via = numbers[at + 3] as number;
		return via < 0 ? file : { ...file, via: steps[via] as string };
	});
}

function numberOf<T>(numbers: Map<T, number>, value: T): number {
	return getOrAdd(numbers, value, () => numbers.size);
}
