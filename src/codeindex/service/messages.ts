import { getOrAdd } from "../../core/get-or-add.ts";
import { isRecord } from "../../core/property.ts";
import { USAGE_KINDS } from "../../text/kinds.ts";
import type { FileAtDepth, Questions, Usage } from "../answers.ts";
import type { BuildOptions, BuildReport, CallOptions, IndexStatus } from "../code-index.ts";
import type { EdgeKind, UsageKind } from "../facts.ts";

export interface IndexWorkerStart {
	readonly root: string;
	readonly database: string;
	/** Documents that are never shown. */
	readonly exclude?: readonly string[];
}

export interface Calls extends Questions {
	readonly status: { query: undefined; answer: IndexStatus };
	readonly build: { query: Pick<BuildOptions, "skeletonFirst">; answer: BuildReport };
}

export type Method = keyof Calls;

/** Reaches an index, in this thread or another one. */
export interface IndexCaller {
	call<M extends Method>(
		method: M,
		query: Calls[M]["query"],
		options?: CallOptions,
	): Promise<Calls[M]["answer"]>;
	/** Calls in flight end first, or reject. */
	close(): Promise<void>;
}

/** The worker sends `IndexProgress` messages before its answer. */
export type IndexCall = {
	[M in Method]: { readonly method: M; readonly query: Calls[M]["query"] };
}[Method];

/** Packs long lists into typed arrays and one string. As objects, 40,000 usages take 80 ms to post. */
export function toColumns(answer: unknown): unknown {
	const isLong = (list: unknown) => Array.isArray(list) && list.length >= MIN_PACKED;
	return withLists(answer, isLong, { usages: packUsages, files: packFiles });
}

export function fromColumns(sent: unknown): unknown {
	const isPacked = (list: unknown) => !Array.isArray(list);
	return withLists(sent, isPacked, { usages: unpackUsages, files: unpackFiles });
}

const MIN_PACKED = 200;
/** Never occurs in a path. */
const SEPARATOR = "\0";
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
			return "usages" in one ? { ...one, usages: changed("usages", one.usages) } : one;
		});
	}
	return copy;
}

function packUsages(usages: readonly Usage[]) {
	const paths: string[] = [];
	/** Per run of usages in one file: length, 1 for a test. */
	const runs: number[] = [];
	/** Per usage: line, column, index of the kind, index into `within` or -1. */
	const places = new Int32Array(usages.length * 4);
	const names = new Map<string, number>();
	let at = 0;
	for (const { path, line, column, kind, isTest, within } of usages) {
		if (paths.at(-1) !== path) {
			paths.push(path);
			runs.push(0, isTest ? 1 : 0);
		}
		runs[runs.length - 2] = (runs[runs.length - 2] as number) + 1;
		places[at++] = line;
		places[at++] = column;
		places[at++] = USAGE_KINDS.indexOf(kind);
		places[at++] = within === undefined ? -1 : getOrAdd(names, within, () => names.size);
	}
	const within = [...names.keys()].join(SEPARATOR);
	return { paths: paths.join(SEPARATOR), within, runs: Int32Array.from(runs), places };
}

function unpackUsages(columns: ReturnType<typeof packUsages>): Usage[] {
	const { paths, within, runs, places } = columns;
	const names = within.split(SEPARATOR);
	const usages: Usage[] = [];
	let at = 0;
	for (const [run, path] of paths.split(SEPARATOR).entries()) {
		const isTest = runs[run * 2 + 1] === 1;
		for (let left = runs[run * 2] as number; left > 0; left--) {
			const line = places[at++] as number;
			const column = places[at++] as number;
			const kind = USAGE_KINDS[places[at++] as number] as UsageKind;
			const name = places[at++] as number;
			const usage = { path, line, column, kind, isTest };
			usages.push(name < 0 ? usage : { ...usage, within: names[name] as string });
		}
	}
	return usages;
}

function packFiles(files: readonly FileAtDepth[]) {
	const kindSets = new Map<string, number>();
	const vias = new Map<string, number>();
	/** Per file: depth, index into `kinds`, 1 for a test, index into `vias` or -1. */
	const numbers = new Int32Array(files.length * 4);
	let at = 0;
	for (const { depth, kinds, isTest, via } of files) {
		numbers[at++] = depth;
		numbers[at++] = getOrAdd(kindSets, kinds.join(" "), () => kindSets.size);
		numbers[at++] = isTest ? 1 : 0;
		numbers[at++] = via === undefined ? -1 : getOrAdd(vias, via, () => vias.size);
	}
	return {
		paths: files.map(({ path }) => path).join(SEPARATOR),
		vias: [...vias.keys()].join(SEPARATOR),
		numbers,
		kinds: [...kindSets.keys()].map((set) => set.split(" ") as EdgeKind[]),
	};
}

function unpackFiles(columns: ReturnType<typeof packFiles>): FileAtDepth[] {
	const { paths, vias, numbers, kinds } = columns;
	const steps = vias.split(SEPARATOR);
	return paths.split(SEPARATOR).map((path, index) => {
		const at = index * 4;
		const file = {
			path,
			depth: numbers[at] as number,
			kinds: kinds[numbers[at + 1] as number] as EdgeKind[],
			isTest: numbers[at + 2] === 1,
		};
		const via = numbers[at + 3] as number;
		return via < 0 ? file : { ...file, via: steps[via] as string };
	});
}
