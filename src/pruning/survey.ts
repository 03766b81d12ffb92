import type { Config } from "../core/config.ts";
import { PIN_ENTRY } from "../core/entry-types.ts";
import type { ExcludedValues } from "../core/excluded-values.ts";
import { matchesAny } from "../core/glob.ts";
import { property } from "../core/property.ts";
import {
	type ContextItem,
	type ContextMessage,
	contextMessages,
	type SessionSource,
	type SessionView,
	type ToolResultItem,
} from "../session/index.ts";
import type { ResultFacts } from "./candidates.ts";

/** What a result is about, by the system that notes it. */
export interface Touches {
	/** The file that a result shows, refers to or changed. */
	fileTouchOf(item: ToolResultItem, cwd: string): Touch | undefined;
	/** Whether its call names a file that must not be stored. */
	touchesExcluded(item: ToolResultItem, exclude: readonly string[], cwd: string): boolean;
}

/** What a result has to do with one file; all of its lines where none are named. */
export interface Touch {
	readonly file: string;
	readonly kind: FileTouch<ToolResultItem>["kind"];
	readonly lines?: { readonly start: number; readonly end: number };
}

/** What pruning sees of a session. */
export interface Survey {
	readonly messages: readonly ContextMessage[];
	/** The tool results in the context, by entry. */
	readonly results: ReadonlyMap<string, ToolResultItem>;
	readonly facts: ResultFacts;
	/** The calls whose results are pinned. */
	readonly pinned: ReadonlySet<string>;
	/** How many of the results hold a value of an excluded file. */
	readonly holdingValues: number;
}

/** The settings that decide what may not be pruned. */
export type SurveySettings = Pick<Config, "prune" | "blobs" | "readcache">;

/** Makes the function that looks at a session for pruning. `values` are refreshed by the caller. */
export function createSurveyor({
	settings,
	cwd,
	values = { appearIn: () => false, revision: 0 },
	touches: { fileTouchOf, touchesExcluded },
}: {
	settings: SurveySettings;
	cwd: string;
	values?: Pick<ExcludedValues, "appearIn" | "revision">;
	touches: Touches;
}): (session: Pick<SessionView, "ledger" | "sessionManager">) => Survey {
	/** Worked out once for each result: neither its call nor its details change. */
	const known = new WeakMap<ToolResultItem, { touch: Touch | undefined; isExcluded: boolean }>();

	function about(item: ToolResultItem): { touch: Touch | undefined; isExcluded: boolean } {
		const before = known.get(item);
		if (before) return before;
		const touch = fileTouchOf(item, cwd);
		const { exclude } = settings.readcache;
		const isExcluded =
			!isInScope(item, settings.blobs.scope) ||
			touchesExcluded(item, exclude, cwd) ||
			(touch !== undefined && matchesAny(exclude, touch.file));
		known.set(item, { touch, isExcluded });
		return { touch, isExcluded };
	}

	/** By result: whether it holds such a value, and the revision of the values that says so. */
	const looked = new WeakMap<ToolResultItem, { revision: number; holds: boolean }>();

	function holdsValue(item: ToolResultItem): boolean {
		const before = looked.get(item);
		if (before && (before.holds || before.revision === values.revision)) return before.holds;
		const holds = values.appearIn(item.returned ?? "");
		looked.set(item, { revision: values.revision, holds });
		return holds;
	}

	return ({ ledger, sessionManager: source }) => {
		const { items } = ledger.log(source);
		const results = resultsIn(items);
		const pinned = pinnedCalls(items, settings.prune);
		const touches = [...results.values()].flatMap((item) => touchNow(item, about(item).touch));
		const facts: ResultFacts = {
			isPinned: ({ toolCallId }) => pinned.has(toolCallId),
			isExcluded: (item) => about(item).isExcluded || holdsValue(item),
			...followTouches(touches),
		};
		const holding = [...results.values()].filter(holdsValue).length;
		return { messages: sentMessages(source), results, facts, pinned, holdingValues: holding };
	};
}

/**
 * The context without answers that failed or were aborted: they are not sent, and what stands before them is still to
 * be answered.
 */
function sentMessages(source: SessionSource): ContextMessage[] {
	const failed = new Set(
		source
			.getBranch()
			.filter(isFailedAnswer)
			.map(({ id }) => id),
	);
	return contextMessages(source).filter(({ entryId }) => !failed.has(entryId));
}

function isFailedAnswer(entry: ReturnType<SessionSource["getBranch"]>[number]): boolean {
	if (entry.type !== "message" || entry.message.role !== "assistant") return false;
	return entry.message.stopReason === "error" || entry.message.stopReason === "aborted";
}

/** The tool results of a log, by entry. */
export function resultsIn(items: readonly ContextItem[]): Map<string, ToolResultItem> {
	const results = items.filter((item) => item.kind === "toolResult");
	return new Map(results.map((item) => [item.entryId, item]));
}

function isInScope({ toolName }: ToolResultItem, scope: Config["blobs"]["scope"]): boolean {
	return scope === "all" || toolName.startsWith("kota_");
}

/** What failed did nothing; what was replaced shows nothing any more, but a change stays a change. */
function touchNow(item: ToolResultItem, touch: Touch | undefined): FileTouch<ToolResultItem>[] {
	if (!touch || item.isError) return [];
	if (touch.kind !== "changed" && item.text !== item.returned) return [];
	const { file, kind, lines } = touch;
	return [{ item, file, kind, ...(lines && { lines: [lines.start, lines.end] as const }) }];
}

/** What a tool result has to do with a file. */
export interface FileTouch<Item> {
	readonly item: Item;
	/** The file, by whatever names it the same each time. */
	readonly file: string;
	/**
	 * `shown`: text of it stands in the result. `refers`: the result stands for text shown before (a marker, a diff).
	 * `changed`: the file is no longer what was shown before.
	 */
	readonly kind: "shown" | "refers" | "changed";
	/** The lines shown or meant; all of them if absent. */
	readonly lines?: readonly [first: number, last: number];
}

/** What follows from the order in which files were shown and changed. */
export interface TouchFacts<Item> {
	/** It showed what has been shown in full again since, or is no longer so. */
	isSuperseded(item: Item): boolean;
	/** The earlier results that an item refers to. */
	basesOf(item: Item): readonly Item[];
}

/** Goes through what happened to files, oldest first. */
export function followTouches<Item>(touches: readonly FileTouch<Item>[]): TouchFacts<Item> {
	const superseded = new Set<Item>();
	const references = new Map<Item, { lives: readonly Life<Item>[]; at: number }>();
	for (const ofFile of Map.groupBy(touches, ({ file }) => file).values()) {
		const lives = livesOf(ofFile);
		for (const [at, { touch, isSuperseded }] of lives.entries()) {
			if (touch.kind === "shown" && isSuperseded) superseded.add(touch.item);
			if (touch.kind === "refers") references.set(touch.item, { lives, at });
		}
	}
	return {
		isSuperseded: (item) => superseded.has(item),
		basesOf(item) {
			const { lives, at } = references.get(item) ?? { lives: [], at: 0 };
			const before = lives.slice(0, at).filter(({ end }) => end > at);
			return before.map(({ touch }) => touch.item);
		},
	};
}

/** A touch, and what became of it. */
interface Life<Item> {
	readonly touch: FileTouch<Item>;
	readonly at: number;
	/** The model has newer text of it, or the file is no longer so. */
	isSuperseded: boolean;
	/**
	 * The place of the touch from which on nothing refers to it any more. A change does not end it: the diff behind the
	 * change says what became of this very text.
	 */
	end: number;
}

function livesOf<Item>(touches: readonly FileTouch<Item>[]): Life<Item>[] {
	let alive: Life<Item>[] = [];
	let lastReference = -1;
	return touches.map((touch, at) => {
		if (touch.kind === "changed") {
			for (const life of alive) life.isSuperseded = true;
			return { touch, at, isSuperseded: false, end: at }; // it shows nothing
		}
		if (touch.kind === "refers") lastReference = at;
		else {
			const replaced = alive.filter((life) => replaces(touch, life.touch));
			for (const life of replaced) {
				life.isSuperseded = true;
				// A diff needs all that it was made of, even where some lines of it are shown again.
				if (!touch.lines || life.at > lastReference) life.end = at;
			}
			if (replaced.length > 0) alive = alive.filter(({ end }) => end !== at);
		}
		const life = { touch, at, isSuperseded: false, end: Number.POSITIVE_INFINITY };
		alive.push(life);
		return life;
	});
}

/** Whether text that is shown makes what was shown or meant before it superfluous. */
export function replaces(later: FileTouch<unknown>, earlier: FileTouch<unknown>): boolean {
	if (!later.lines) return true;
	if (!earlier.lines) return false;
	return later.lines[0] <= earlier.lines[0] && earlier.lines[1] <= later.lines[1];
}

/** What an entry of the type {@link PIN_ENTRY} says: the result of this call is pinned from here on, or no longer. */
export interface PinEntry {
	readonly toolCallId: string;
	readonly pinned: boolean;
}

/** The calls whose results are pinned: by the user's entries, latest wins, or because they are impact summaries. */
export function pinnedCalls(
	items: readonly ContextItem[],
	{ pinImpactSummaries }: { pinImpactSummaries: boolean },
): Set<string> {
	const pinned = new Set<string>();
	for (const item of items) {
		if (item.kind === "toolResult") {
			if (pinImpactSummaries && item.toolName === "kota_impact") pinned.add(item.toolCallId);
			continue;
		}
		if (item.kind !== "custom") continue;
		const pin = item.customType === PIN_ENTRY ? parsePin(item.data) : undefined;
		if (pin?.pinned) pinned.add(pin.toolCallId);
		else if (pin) pinned.delete(pin.toolCallId);
	}
	return pinned;
}

/** The result that `/kota pin` means without a name: the latest that says something, and is neither error nor stub. */
export function lastMeaningful(items: readonly ContextItem[]): ToolResultItem | undefined {
	return items.findLast(
		(item): item is ToolResultItem =>
			item.kind === "toolResult" &&
			!item.isError &&
			item.text !== undefined &&
			item.text === item.returned &&
			item.text.trim() !== "" &&
			!item.text.startsWith("[readcache: "),
	);
}

function parsePin(data: unknown): PinEntry | undefined {
	const toolCallId = property(data, "toolCallId");
	const pinned = property(data, "pinned");
	if (typeof toolCallId !== "string" || typeof pinned !== "boolean") return undefined;
	return { toolCallId, pinned };
}
