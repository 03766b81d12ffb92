import type { SessionBlock } from "../economy/replay/index.ts";
import type { ToolResultItem } from "../session/index.ts";
import {
	type CandidateSettings,
	goesByAge,
	isPrunable,
	PROTECTED_TOOL_TOKENS,
} from "./candidates.ts";
import { freedFrom, type Survey } from "./pruner.ts";
import { type FileTouch, replaces } from "./survey.ts";

export interface SurveyedBlock {
	readonly block: SessionBlock;
	readonly item?: ToolResultItem | undefined;
	readonly touch?: FileTouch<ToolResultItem> | undefined;
	/** Its thinking is bound to all before it. */
	readonly isBound: boolean;
}

/** Totals before one block. */
type Mark = Readonly<typeof START>;

const START = {
	at: 0,
	tokens: 0,
	toolTokens: 0,
	turn: 0,
	kindBefore: undefined as SessionBlock["kind"] | undefined,
	lastAnswer: -1,
	editableFrom: 0,
};

interface Result {
	readonly index: number;
	readonly item: ToolResultItem;
	readonly touch: FileTouch<ToolResultItem> | undefined;
	readonly before: Mark;
	readonly behind: Mark;
	readonly couldGo: boolean;
	readonly bases: readonly Result[];
	/** Recent results that refer to it. */
	neededBy: number;
	isRecent: boolean;
	isSuperseded: boolean;
	isCandidate: boolean;
}

interface FileState {
	/** Results with a touch that later ones may supersede. */
	alive: Result[];
	/** The block of the last marker or diff. */
	lastReference: number;
}

export type GrowingSurvey = ReturnType<typeof createGrowingSurvey>;

/**
 * Incremental `candidatesOf` for a conversation that only grows; otherwise make a new survey. It is
 * empty, or continues at a mark with the results before it.
 */
export function createGrowingSurvey(
	settings: CandidateSettings,
	mark: Mark = START,
	known: readonly Result[] = [],
) {
	const results: Result[] = [];
	const files = new Map<string, FileState>();
	let now = mark;
	/** All results before these indices are no longer recent, or not editable. */
	let recentFrom = 0;
	let editable = 0;
	let firstPrunable: number | undefined;
	let count = 0;
	let freedTokens = 0;
	/** No candidate stands before this index. */
	let first = 0;
	for (const result of known) addResult(result);

	return {
		settings,
		get tokens(): number {
			return now.tokens;
		},
		add({ block, item, touch, isBound }: SurveyedBlock): void {
			const { kind, tokens } = block;
			const before = now;
			const { at } = before;
			const isAnswer = kind === "text" || kind === "call" || kind === "thinking";
			const isOfTool = kind === "call" || kind === "result";
			now = {
				at: at + 1,
				tokens: before.tokens + tokens,
				toolTokens: before.toolTokens + (isOfTool ? tokens : 0),
				turn: before.turn + (kind === "user" && before.kindBefore !== "user" ? 1 : 0),
				kindBefore: kind,
				lastAnswer: isAnswer ? at : before.lastAnswer,
				editableFrom: isBound ? at + 1 : before.editableFrom,
			};
			if (item) addResult({ item, touch, before, behind: now });
		},
		survey(): Survey {
			settle();
			if (count === 0) return { freedTokens, tokensFromFirst: 0, tokensAfterLast: 0 };
			let last = recentFrom - 1;
			while (!results[last]?.isCandidate) last--;
			return {
				freedTokens,
				tokensFromFirst: now.tokens - firstCandidate().before.tokens,
				tokensAfterLast: now.tokens - (results[last] as Result).behind.tokens,
			};
		},
		/** Oldest first. */
		candidates(): ToolResultItem[] {
			settle();
			return results.filter(({ isCandidate }) => isCandidate).map(({ item }) => item);
		},
		/** For a survey that continues at the first candidate, which is pruned now. */
		beforeFirst() {
			settle();
			const { before: mark } = firstCandidate();
			return { mark, known: results.slice(0, first) };
		},
		/** See `frontierOf`. */
		frontier: (): number | undefined => (now.editableFrom > 0 ? undefined : firstPrunable),
	};

	function firstCandidate(): Result {
		while (!results[first]?.isCandidate) first++;
		return results[first] as Result;
	}

	function addResult(given: Pick<Result, "item" | "touch" | "before" | "behind">): void {
		const { item, touch, before, behind } = given;
		const couldGo = isPrunable(item);
		if (!couldGo && !touch) return; // it stays, and nothing depends on it
		const file = touch && fileOf(touch.file);
		const result: Result = {
			...{ index: results.length, item, touch, before, behind, couldGo },
			bases: file && touch?.kind === "refers" ? [...file.alive] : [],
			neededBy: 0,
			isRecent: true,
			isSuperseded: false,
			isCandidate: false,
		};
		if (couldGo) firstPrunable ??= before.at;
		results.push(result);
		for (const base of result.bases) need(base, 1);
		if (file && touch) follow(file, touch, result);
	}

	/** The incremental form of `followTouches`. */
	function follow(file: FileState, touch: FileTouch<ToolResultItem>, result: Result): void {
		if (touch.kind === "refers") file.lastReference = result.before.at;
		else {
			file.alive = file.alive.filter((one) => {
				if (!one.touch || !replaces(touch, one.touch)) return true;
				if (one.touch.kind === "shown") {
					one.isSuperseded = true;
					judge(one);
				}
				return touch.lines !== undefined && one.before.at <= file.lastReference;
			});
		}
		file.alive.push(result);
	}

	/** No result becomes recent or editable again, so each is visited once. */
	function settle(): void {
		for (; recentFrom < results.length; recentFrom++) {
			const result = results[recentFrom] as Result;
			if (isRecent(result)) break;
			result.isRecent = false;
			for (const base of result.bases) need(base, -1);
			judge(result);
		}
		for (; editable < results.length; editable++) {
			const result = results[editable] as Result;
			if (result.before.at >= now.editableFrom) break;
			judge(result);
		}
	}

	/** See `recentResults`: recent results are a suffix. */
	function isRecent({ before, behind }: Result): boolean {
		if (before.at > now.lastAnswer) return true;
		const tokens = now.toolTokens - before.toolTokens;
		return behind.turn > now.turn - settings.keepRecentTurns && tokens <= PROTECTED_TOOL_TOKENS;
	}

	function need(base: Result, by: 1 | -1): void {
		base.neededBy += by;
		judge(base);
	}

	function judge(result: Result): void {
		const { item, before, couldGo, isSuperseded, isRecent: recent, neededBy } = result;
		const isCandidate =
			couldGo &&
			!recent &&
			neededBy === 0 &&
			before.at >= now.editableFrom &&
			(isSuperseded || goesByAge(item, settings));
		if (isCandidate === result.isCandidate) return;
		result.isCandidate = isCandidate;
		count += isCandidate ? 1 : -1;
		freedTokens += (isCandidate ? 1 : -1) * freedFrom(item);
		if (isCandidate) first = Math.min(first, result.index);
	}

	function fileOf(path: string): FileState {
		const file = files.get(path) ?? { alive: [], lastReference: -1 };
		files.set(path, file);
		return file;
	}
}
