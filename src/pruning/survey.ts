import type { Config } from "../core/config.ts";
import type { ExcludedValues } from "../core/excluded-values.ts";
import { matchesAny } from "../core/glob.ts";
import {
	type ContextItem,
	type ContextMessage,
	contextMessages,
	type SessionSource,
	type SessionView,
	type ToolResultItem,
} from "../session/index.ts";
import type { ResultFacts } from "./candidates.ts";
import { type FileTouch, followTouches } from "./file-touches.ts";
import { pinnedCalls } from "./pins.ts";

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
