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

/** Incremental `candidatesOf` for a conversation that only grows; otherwise make a new survey. */
export interface GrowingSurvey {
	readonly settings: CandidateSettings;
	add(next: SurveyedBlock): void;
	survey(): Survey;
	/** Oldest first. */
	candidates(): ToolResultItem[];
	/** See `frontierOf`. */
	frontier(): number | undefined;
	/** A survey up to the first candidate, which is pruned now. The caller adds the rest. */
	restart(): { readonly at: number; readonly survey: GrowingSurvey };
	readonly tokens: number;
}

/** Totals before one block. */
interface Mark {
	readonly at: number;
	readonly tokens: number;
	readonly toolTokens: number;
	readonly turn: number;
	readonly kindBefore: SessionBlock["kind"] | undefined;
	readonly lastAnswer: number;
	readonly editableFrom: number;
}

const START: Mark = {
	at: 0,
	tokens: 0,
	toolTokens: 0,
	turn: 0,
	kindBefore: undefined,
	lastAnswer: -1,
	editableFrom: 0,
};

interface Result {
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

/** A touch that later ones may supersede. */
interface Alive {
	readonly result: Result;
	readonly touch: FileTouch<ToolResultItem>;
	readonly order: number;
}

interface FileState {
	alive: Alive[];
	touches: number;
	lastReference: number;
}

/** Empty, or restored at a mark with these results. */
export function createGrowingSurvey(
	settings: CandidateSettings,
	mark: Mark = START,
	known: readonly Result[] = [],
): GrowingSurvey {
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
		get tokens() {
			return now.tokens;
		},
		add({ block, item, touch, isBound }) {
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
		survey() {
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
		candidates() {
			settle();
			return results.filter(({ isCandidate }) => isCandidate).map(({ item }) => item);
		},
		restart() {
			settle();
			const { before } = firstCandidate();
			const survey = createGrowingSurvey(settings, before, results.slice(0, first));
			return { at: before.at, survey };
		},
		frontier: () => (now.editableFrom > 0 ? undefined : firstPrunable),
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
			...{ item, touch, before, behind, couldGo },
			bases: file && touch?.kind === "refers" ? file.alive.map((one) => one.result) : [],
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
		const order = file.touches++;
		if (touch.kind === "refers") file.lastReference = order;
		else {
			file.alive = file.alive.filter((one) => {
				if (!replaces(touch, one.touch)) return true;
				if (one.touch.kind === "shown") {
					one.result.isSuperseded = true;
					judge(one.result);
				}
				return touch.lines !== undefined && one.order <= file.lastReference;
			});
		}
		file.alive.push({ result, touch, order });
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
		if (isCandidate) first = Math.min(first, indexOf(result));
	}

	function indexOf({ before: { at } }: Result): number {
		let [low, high] = [0, results.length];
		while (low < high) {
			const middle = (low + high) >> 1;
			if ((results[middle] as Result).before.at < at) low = middle + 1;
			else high = middle;
		}
		return low;
	}

	function fileOf(path: string): FileState {
		const file = files.get(path) ?? { alive: [], touches: 0, lastReference: -1 };
		files.set(path, file);
		return file;
	}
}
