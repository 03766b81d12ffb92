import type { Config } from "../core/config.ts";
import type { ExcludedValues } from "../core/excluded-values.ts";
import { matchesAny } from "../core/glob.ts";
import {
	type ContextItem,
	type ContextMessage,
	contextMessages,
	pinnedCalls,
	type SessionSource,
	type SessionView,
	type ToolResultItem,
} from "../session/index.ts";
import type { ResultFacts } from "./candidates.ts";

/** Reports which file a result shows or changed. Implemented by the read cache. */
export interface Touches {
	fileTouchOf(item: ToolResultItem, cwd: string): Touch | undefined;
	touchesExcluded(item: ToolResultItem, exclude: readonly string[], cwd: string): boolean;
}

interface Touch {
	readonly file: string;
	/** `shown`: the file's text. `refers`: a marker or diff of earlier text. `changed`: changed the file. */
	readonly kind: "shown" | "refers" | "changed";
	/** Absent means all lines. */
	readonly lines?: { readonly start: number; readonly end: number };
}

export interface FileTouch<Item> extends Touch {
	readonly item: Item;
}

/** Collects the facts about a session that pruning needs. The caller refreshes `values`. */
export function createSurveyor({
	settings,
	cwd,
	values = { appearIn: () => false, revision: 0 },
	touches: { fileTouchOf, touchesExcluded },
}: {
	settings: Pick<Config, "prune" | "blobs" | "readcache">;
	cwd: string;
	values?: Pick<ExcludedValues, "appearIn" | "revision">;
	touches: Touches;
}) {
	/** Memoized, since the call and details of a result never change. */
	const known = new WeakMap<ToolResultItem, { touch: Touch | undefined; isExcluded: boolean }>();

	function about(item: ToolResultItem): { touch: Touch | undefined; isExcluded: boolean } {
		const before = known.get(item);
		if (before) return before;
		const touch = fileTouchOf(item, cwd);
		const { exclude } = settings.readcache;
		const isExcluded =
			(settings.blobs.scope !== "all" && !item.toolName.startsWith("kota_")) ||
			touchesExcluded(item, exclude, cwd) ||
			(touch !== undefined && matchesAny(exclude, touch.file));
		known.set(item, { touch, isExcluded });
		return { touch, isExcluded };
	}

	/** Memoized per revision of the values. */
	const looked = new WeakMap<ToolResultItem, { revision: number; holds: boolean }>();

	function holdsValue(item: ToolResultItem): boolean {
		const before = looked.get(item);
		if (before && (before.holds || before.revision === values.revision)) return before.holds;
		const holds = values.appearIn(item.returned ?? "");
		looked.set(item, { revision: values.revision, holds });
		return holds;
	}

	return ({ ledger, sessionManager: source }: Pick<SessionView, "ledger" | "sessionManager">) => {
		const { items } = ledger.log(source);
		const results = resultsIn(items);
		const pinned = pinnedCalls(items, settings.prune);
		const touches = [...results.values()].flatMap((item) => touchNow(item, about(item).touch));
		const facts: ResultFacts = {
			isPinned: ({ toolCallId }) => pinned.has(toolCallId),
			isExcluded: (item) => about(item).isExcluded || holdsValue(item),
			...followTouches(touches),
		};
		const holdingValues = [...results.values()].filter(holdsValue).length;
		return { messages: sentMessages(source), results, facts, pinned, holdingValues };
	};
}

/** Failed or aborted answers are not sent, so the message before them is unanswered. */
function sentMessages(source: SessionSource): ContextMessage[] {
	const failed = source.getBranch().filter(isFailedAnswer);
	const ids = new Set(failed.map(({ id }) => id));
	return contextMessages(source).filter(({ entryId }) => !ids.has(entryId));
}

function isFailedAnswer(entry: ReturnType<SessionSource["getBranch"]>[number]): boolean {
	if (entry.type !== "message" || entry.message.role !== "assistant") return false;
	return entry.message.stopReason === "error" || entry.message.stopReason === "aborted";
}

export function resultsIn(items: readonly ContextItem[]): Map<string, ToolResultItem> {
	const results = items.filter((item) => item.kind === "toolResult");
	return new Map(results.map((item) => [item.entryId, item]));
}

/** A failed call touches no file. A replaced result shows nothing, but a change that it made stays. */
function touchNow(item: ToolResultItem, touch: Touch | undefined): FileTouch<ToolResultItem>[] {
	if (!touch || item.isError) return [];
	if (touch.kind !== "changed" && item.text !== item.returned) return [];
	return [{ item, ...touch }];
}

export function followTouches<Item>(touches: readonly FileTouch<Item>[]) {
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
		isSuperseded: (item: Item): boolean => superseded.has(item),
		basesOf(item: Item): readonly Item[] {
			const { lives, at } = references.get(item) ?? { lives: [], at: 0 };
			const before = lives.slice(0, at).filter(({ end }) => end > at);
			return before.map(({ touch }) => touch.item);
		},
	};
}

interface Life<Item> {
	readonly touch: FileTouch<Item>;
	readonly at: number;
	isSuperseded: boolean;
	/** Index of the touch that makes the text unneeded. A change does not, since diffs need the text. */
	end: number;
}

function livesOf<Item>(touches: readonly FileTouch<Item>[]): Life<Item>[] {
	let alive: Life<Item>[] = [];
	let lastReference = -1;
	return touches.map((touch, at) => {
		if (touch.kind === "changed") {
			for (const life of alive) life.isSuperseded = true;
			return { touch, at, isSuperseded: false, end: at }; // a change shows no text
		}
		if (touch.kind === "refers") lastReference = at;
		else {
			const replaced = alive.filter((life) => replaces(touch, life.touch));
			for (const life of replaced) {
				life.isSuperseded = true;
				// A diff needs its whole base, even if some of its lines are shown again.
				if (!touch.lines || life.at > lastReference) life.end = at;
			}
			if (replaced.length > 0) alive = alive.filter(({ end }) => end !== at);
		}
		const life = { touch, at, isSuperseded: false, end: Number.POSITIVE_INFINITY };
		alive.push(life);
		return life;
	});
}

export function replaces({ lines: later }: Touch, { lines: earlier }: Touch): boolean {
	if (!later) return true;
	return earlier !== undefined && later.start <= earlier.start && earlier.end <= later.end;
}
