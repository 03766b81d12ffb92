/** The `log` layout as requests of a generated session: the very code that decides in pi, carried out on blocks. */
import { type Block, isCold, placeBreakpoints } from "../../src/economy/index.ts";
import {
	createController,
	createLogLayout,
	type LogMoment,
	type LogPlan,
} from "../../src/tiers/index.ts";
import { fileBlock, HEAD, type Layout, messageBlock } from "./plain-layouts.ts";
import type { ShownFile } from "./workload.ts";

/** A message of the conversation, or one that holds working files. */
type Entry =
	| { readonly kind: "message"; readonly block: Block }
	| {
			readonly kind: "slot" | "snapshot";
			readonly id: string;
			readonly files: readonly ShownFile[];
	  };

/** Nobody's window ends a session here: the others would not fit into one. */
const CONTEXT_WINDOW = 1_000_000;

export const log: Layout = function* (session, rules) {
	const layout = createLogLayout();
	const ranking = createController();
	let entries: readonly Entry[] = [];
	let lastMs: number | undefined;
	let previousTail: number | undefined;
	for (const { atMs, files, modified, added } of session) {
		const isFirst = lastMs === undefined;
		const gapMs = atMs - (lastMs ?? 0);
		const cold = isFirst || isCold({ gapMs, ttlMs: rules.ttlMs["5m"] }).cold;
		lastMs = atMs;
		ranking.next({ files: files.map(toItem), symbols: [], history: [], modified });
		const ranks = ranking.items();
		const messages = added.map((one): Entry => ({ kind: "message", block: messageBlock(one) }));

		// The working set is chosen before the first prompt; later, files change before or while the model answers.
		const before = isFirst ? [] : [...entries, ...messages];
		const plan = layout.decide({
			files: files.map((file) => ({ ...file, ...(ranks.get(file.path) ?? UNRANKED) })),
			copies: copiesIn(before),
			rules,
			cold,
			contextTokens: tokensOf([...HEAD, ...blocksOf(before)]),
			contextWindow: CONTEXT_WINDOW,
		});
		const carriedOut = carryOut(plan, before, new Map(files.map((file) => [file.path, file])));
		entries = isFirst ? [...carriedOut, ...messages] : carriedOut;

		const body = [...HEAD, ...blocksOf(entries)];
		const hot = files.filter(({ path }) => plan.tail.includes(path));
		checkFresh(entries, files, hot);
		const blocks = [...body, ...hot.map(fileBlock)];
		const tail = body.length - 1;
		const frontier = plan.frontier && HEAD.length + indexOf(plan.frontier, before) - 1;
		const breakpoints = placeBreakpoints({
			blocks,
			rules,
			tail,
			...(frontier !== undefined && { frontier }),
			...(previousTail !== undefined && { previousTail }),
		});
		yield { atMs, blocks, breakpoints };
		previousTail = tail;
	}
};

const UNRANKED = { tier: "active", n: 0 } as const;

function toItem({ path, hash, tokens }: ShownFile) {
	return { key: path, hash, tokens };
}

let ids = 0;

function carryOut(
	plan: LogPlan,
	entries: readonly Entry[],
	files: ReadonlyMap<string, ShownFile>,
): Entry[] {
	const { slot } = plan;
	const textsOf = (paths: readonly string[]) => paths.map((path) => files.get(path) as ShownFile);
	const kept = entries.filter((entry) => entry.kind === "message" || !plan.drop.includes(entry.id));
	const changed = kept.map((entry) =>
		slot && entry.kind !== "message" && entry.id === slot.entryId
			? { ...entry, files: textsOf(slot.paths) }
			: entry,
	);
	if (slot && slot.entryId === undefined) {
		changed.push({ kind: "slot", id: `slot ${ids++}`, files: textsOf(slot.paths) });
	}
	for (const file of textsOf(plan.append)) {
		changed.push({ kind: "snapshot", id: `snapshot ${ids++}`, files: [file] });
	}
	return changed;
}

/** What all layouts promise: the model sees every working file as it is now. */
function checkFresh(
	entries: readonly Entry[],
	files: readonly ShownFile[],
	tail: readonly ShownFile[],
): void {
	const held = entries.flatMap((entry) => (entry.kind === "message" ? [] : entry.files));
	const seen = new Map([...held, ...tail].map(({ path, hash }) => [path, hash]));
	for (const { path, hash } of files) {
		if (seen.get(path) !== hash)
			throw new Error(`${path} is not fresh: ${seen.get(path)}, not ${hash}`);
	}
}

function copiesIn(entries: readonly Entry[]): LogMoment["copies"] {
	return entries.flatMap((entry, at) => {
		if (entry.kind === "message") return [];
		const { id: entryId, kind, files } = entry;
		return [{ entryId, kind, files, tokensBehind: tokensOf(blocksOf(entries.slice(at + 1))) }];
	});
}

function blocksOf(entries: readonly Entry[]): Block[] {
	return entries.flatMap((entry) =>
		entry.kind === "message" ? [entry.block] : entry.files.map(fileBlock),
	);
}

function indexOf(place: NonNullable<LogPlan["frontier"]>, entries: readonly Entry[]): number {
	const at = entries.findIndex((entry) => entry.kind !== "message" && entry.id === place.entryId);
	const entry = entries[at] as Entry & { files: readonly ShownFile[] };
	const within = entry.files.findIndex(({ path }) => path === (place.path ?? path));
	return blocksOf(entries.slice(0, at)).length + within;
}

function tokensOf(blocks: readonly Block[]): number {
	return blocks.reduce((sum, { tokens }) => sum + tokens, 0);
}
