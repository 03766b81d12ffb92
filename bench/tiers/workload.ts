/** Generated sessions with a working set: prompts, changes, and pauses of people. Same seed, same session. */

/** A file as one request has to show it. */
export interface ShownFile {
	readonly path: string;
	readonly hash: string;
	readonly tokens: number;
}

/** A message of the conversation. */
export interface Message {
	readonly id: string;
	readonly role: "user" | "assistant";
	readonly tokens: number;
}

/** One request of a session: everything a layout must know to make it. */
export interface WorkRequest {
	readonly atMs: number;
	/** The working set now, in the order of paths. */
	readonly files: readonly ShownFile[];
	/** Those that changed since the request before. */
	readonly modified: readonly string[];
	/** Messages since the request before; the last one is the prompt. */
	readonly added: readonly Message[];
}

/** A kind of session. Defaults are in {@link USUAL}. */
export interface Workload {
	readonly name: string;
	readonly turns?: number;
	/** Requests of a turn: the prompt, and a call of a tool with its result for each further one. */
	readonly requestsPerTurn?: number;
	readonly files?: number;
	readonly fileTokens?: number;
	/** The size of the first file, if it differs. */
	readonly firstFileTokens?: number;
	/** Edits of a turn, on average. */
	readonly editsPerTurn?: number;
	/** The first so many files get `hotShare` of the edits. */
	readonly hotFiles?: number;
	readonly hotShare?: number;
	/** How often in a turn a file leaves the working set and another one comes in. */
	readonly swapsPerTurn?: number;
	/** Median of the time between turns. */
	readonly gapSeconds?: number;
}

const USUAL = {
	turns: 40,
	requestsPerTurn: 1,
	files: 12,
	fileTokens: 3000,
	editsPerTurn: 1,
	hotFiles: 0,
	hotShare: 0.9,
	swapsPerTurn: 0,
	gapSeconds: 45,
};

/** Every kind that the layouts are compared on. */
export const WORKLOADS: readonly Workload[] = [
	{ name: "few edits", editsPerTurn: 0.3 },
	{ name: "few hot files", hotFiles: 2, editsPerTurn: 1.2 },
	{ name: "one hot file", hotFiles: 1 },
	{ name: "scattered edits", editsPerTurn: 2 },
	{ name: "40 files of 4k", files: 40, fileTokens: 4000 },
	{ name: "selection churn", swapsPerTurn: 0.5, editsPerTurn: 0.5 },
	{ name: "long gaps", gapSeconds: 360 },
	{ name: "very long gaps", gapSeconds: 1200 },
	{ name: "no edits", editsPerTurn: 0 },
	{ name: "8 turns", turns: 8 },
	{ name: "120 turns", turns: 120 },
	{ name: "60 files, one hot", files: 60, fileTokens: 2000, hotFiles: 1 },
	{ name: "one big hot file", firstFileTokens: 20_000, hotFiles: 1 },
	{ name: "all files change", editsPerTurn: 30 },
	{ name: "tool loops", turns: 15, requestsPerTurn: 6, editsPerTurn: 2 },
];

/** The requests of one session. */
export function generateRequests(workload: Workload, seed: number): WorkRequest[] {
	const spec = { ...USUAL, ...workload };
	const random = createRandom(`${spec.name} ${seed}`);
	const versions = new Map<string, number>();
	const sizes = new Map<string, number>();
	let selected = Array.from({ length: spec.files }, (_, at) => pathOf(at));
	let introduced = spec.files;
	let messages = 0;
	let atMs = 0;
	const requests: WorkRequest[] = [];
	for (let turn = 0; turn < spec.turns; turn++) {
		atMs += turn === 0 ? 0 : 1000 * spec.gapSeconds * Math.exp(GAP_SPREAD * normal(random));
		const isEdited = editsOf(turn);
		if (turn > 0 && random() < spec.swapsPerTurn) swap();
		for (let at = 0; at < spec.requestsPerTurn; at++) {
			if (at > 0) atMs += 1000 * between(random, 3, 15);
			const modified = isEdited[at] ?? [];
			for (const path of modified) edit(path);
			requests.push({
				atMs,
				files: selected.toSorted().map(shown),
				modified: [...new Set(modified)].filter((path) => selected.includes(path)),
				added: addedFor(turn, at),
			});
		}
	}
	return requests;

	/** Edits of a turn by the request that is the first to show them. They come from the turn before, or from its calls. */
	function editsOf(turn: number): string[][] {
		const edited: string[][] = Array.from({ length: spec.requestsPerTurn }, () => []);
		if (turn === 0) return edited;
		for (let count = poisson(random, spec.editsPerTurn); count > 0; count--) {
			edited[Math.floor(random() * spec.requestsPerTurn)]?.push(choose());
		}
		return edited;
	}

	function choose(): string {
		const isHot = spec.hotFiles > 0 && random() < spec.hotShare;
		const among = isHot ? spec.hotFiles : selected.length;
		// Spread over the alphabet: a fixed order is by path, and must be neither lucky nor unlucky.
		return selected[(Math.floor(random() * among) * 7 + 3) % selected.length] as string;
	}

	function edit(path: string): void {
		versions.set(path, (versions.get(path) ?? 0) + 1);
		sizes.set(path, Math.max(50, Math.round(sizeOf(path) + 60 * normal(random))));
	}

	function swap(): void {
		const leaving = Math.floor(random() * selected.length);
		selected = selected.with(leaving, pathOf(introduced++ % MAP_FILES));
	}

	function shown(path: string): ShownFile {
		return { path, hash: `${path}@${versions.get(path) ?? 0}`, tokens: sizeOf(path) };
	}

	function sizeOf(path: string): number {
		const usual = path === hotPath() ? (spec.firstFileTokens ?? spec.fileTokens) : spec.fileTokens;
		return sizes.get(path) ?? usual;
	}

	function hotPath(): string {
		return pathOf(3 % spec.files);
	}

	function addedFor(turn: number, at: number): Message[] {
		const added: Message[] = [];
		const add = (role: Message["role"], tokens: number) =>
			added.push({ id: `m${messages++}`, role, tokens: Math.round(tokens) });
		if (turn > 0 || at > 0) add("assistant", between(random, 200, at === 0 ? 1000 : 400));
		add("user", at === 0 ? between(random, 40, 300) : between(random, 200, 2000));
		return added;
	}
}

/** Files of the project: the map has an entry for each. */
export const MAP_FILES = 200;

/** The name of a file of the project. */
export function pathOf(at: number): string {
	return `src/${String(at).padStart(3, "0")}.ts`;
}

/** Standard deviation of the logarithm of a gap: one in six is longer than e times the median. */
const GAP_SPREAD = 1;

type Random = () => number;

/** Numbers from 0 to 1 that follow from the name: a 32-bit generator of the xorshift kind with a mixing step. */
function createRandom(name: string): Random {
	let state = 0x811c9dc5;
	for (const char of name) state = Math.imul(state ^ (char.codePointAt(0) ?? 0), 0x01000193);
	state ||= 1;
	return () => {
		state ^= state << 13;
		state ^= state >>> 17;
		state ^= state << 5;
		return (Math.imul(state, 0x9e3779b1) >>> 0) / 2 ** 32;
	};
}

function between(random: Random, low: number, high: number): number {
	return low + (high - low) * random();
}

function normal(random: Random): number {
	return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

function poisson(random: Random, mean: number): number {
	const limit = Math.exp(-mean);
	let count = 0;
	for (let product = random(); product > limit; product *= random()) count++;
	return count;
}
