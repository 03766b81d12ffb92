import { getOrAdd } from "../core/get-or-add.ts";
import type { SessionBlock } from "../economy/replay/index.ts";
import type { ToolResultItem } from "../session/index.ts";
import {
	type CandidateSettings,
	isPrunable,
	isPrunedByAge,
	PROTECTED_TOOL_TOKENS,
} from "./candidates.ts";
import { freedFrom, type PruneEffect } from "./pruner.ts";
import { type FileTouch, replaces } from "./survey.ts";

export interface SurveyedBlock {
	readonly block: SessionBlock;
	readonly item?: ToolResultItem | undefined;
	readonly touch?: FileTouch<ToolResultItem> | undefined;
	/** Whether the block is thinking that is bound to everything before it. */
	readonly isBound: boolean;
}

/** Totals of all blocks before one block. */
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
	readonly isPrunable: boolean;
	readonly bases: readonly Result[];
	/** Number of recent results that refer to this result. */
	neededBy: number;
	isRecent: boolean;
	isSuperseded: boolean;
	isCandidate: boolean;
}

type NewResult = Pick<Result, "item" | "touch" | "before" | "behind">;

interface FileState {
	/** Results with a touch that later results may supersede. */
	alive: Result[];
	/** Block index of the last marker or diff. */
	lastReference: number;
}

/** An incremental `candidatesOf`, for a conversation that only grows, from its start or from a mark. */
export class GrowingSurvey {
	readonly settings: CandidateSettings;
	readonly #results: Result[] = [];
	readonly #files = new Map<string, FileState>();
	#now: Mark;
	/** Results before `#recentFrom` are no longer recent. Results before `#editable` are not editable. */
	#recentFrom = 0;
	#editable = 0;
	#firstPrunable: number | undefined;
	#count = 0;
	#freedTokens = 0;
	/** There is no candidate before this index. */
	#first = 0;

	constructor(settings: CandidateSettings, mark: Mark = START, known: readonly Result[] = []) {
		this.settings = settings;
		this.#now = mark;
		for (const result of known) this.#addResult(result);
	}

	get tokens(): number {
		return this.#now.tokens;
	}

	add({ block, item, touch, isBound }: SurveyedBlock): void {
		const { kind, tokens } = block;
		const before = this.#now;
		const { at } = before;
		const isAnswer = kind === "text" || kind === "call" || kind === "thinking";
		const isOfTool = kind === "call" || kind === "result";
		this.#now = {
			at: at + 1,
			tokens: before.tokens + tokens,
			toolTokens: before.toolTokens + (isOfTool ? tokens : 0),
			turn: before.turn + (kind === "user" && before.kindBefore !== "user" ? 1 : 0),
			kindBefore: kind,
			lastAnswer: isAnswer ? at : before.lastAnswer,
			editableFrom: isBound ? at + 1 : before.editableFrom,
		};
		if (item) this.#addResult({ item, touch, before, behind: this.#now });
	}

	effect(): PruneEffect {
		this.#update();
		const freedTokens = this.#freedTokens;
		if (this.#count === 0) return { freedTokens, tokensFromFirst: 0, tokensAfterLast: 0 };
		let last = this.#recentFrom - 1;
		while (!this.#results[last]?.isCandidate) last--;
		const { tokens } = this.#now;
		return {
			freedTokens,
			tokensFromFirst: tokens - this.#firstCandidate().before.tokens,
			tokensAfterLast: tokens - (this.#results[last] as Result).behind.tokens,
		};
	}

	/** Oldest first. */
	candidates(): ToolResultItem[] {
		this.#update();
		return this.#results.filter(({ isCandidate }) => isCandidate).map(({ item }) => item);
	}

	/** Where a new survey starts, since the first candidate is pruned now. */
	beforeFirst() {
		this.#update();
		const { before: mark } = this.#firstCandidate();
		return { mark, known: this.#results.slice(0, this.#first) };
	}

	/** Block index of the first prunable result; see `frontierOf`. */
	frontier(): number | undefined {
		return this.#now.editableFrom > 0 ? undefined : this.#firstPrunable;
	}

	#firstCandidate(): Result {
		while (!this.#results[this.#first]?.isCandidate) this.#first++;
		return this.#results[this.#first] as Result;
	}

	#addResult({ item, touch, before, behind }: NewResult): void {
		const prunable = isPrunable(item);
		if (!prunable && !touch) return; // the result is never pruned, and no other result depends on it
		const newFile = (): FileState => ({ alive: [], lastReference: -1 });
		const file = touch && getOrAdd(this.#files, touch.file, newFile);
		const result: Result = {
			...{ index: this.#results.length, item, touch, before, behind, isPrunable: prunable },
			bases: file && touch?.kind === "refers" ? [...file.alive] : [],
			neededBy: 0,
			isRecent: true,
			isSuperseded: false,
			isCandidate: false,
		};
		if (prunable) this.#firstPrunable ??= before.at;
		this.#results.push(result);
		for (const base of result.bases) this.#need(base, 1);
		if (file && touch) this.#follow(file, touch, result);
	}

	/** The incremental form of `followTouches`. */
	#follow(file: FileState, touch: FileTouch<ToolResultItem>, result: Result): void {
		if (touch.kind === "refers") file.lastReference = result.before.at;
		else {
			file.alive = file.alive.filter((one) => {
				if (!one.touch || !replaces(touch, one.touch)) return true;
				if (one.touch.kind === "shown") {
					one.isSuperseded = true;
					this.#judge(one);
				}
				return touch.lines !== undefined && one.before.at <= file.lastReference;
			});
		}
		file.alive.push(result);
	}

	/** Visits each result once, since no result becomes recent or editable again. */
	#update(): void {
		const results = this.#results;
		for (; this.#recentFrom < results.length; this.#recentFrom++) {
			const result = results[this.#recentFrom] as Result;
			if (this.#isRecent(result)) break;
			result.isRecent = false;
			for (const base of result.bases) this.#need(base, -1);
			this.#judge(result);
		}
		for (; this.#editable < results.length; this.#editable++) {
			const result = results[this.#editable] as Result;
			if (result.before.at >= this.#now.editableFrom) break;
			this.#judge(result);
		}
	}

	/** Recent results are a suffix of all results; see `recentResults`. */
	#isRecent({ before, behind }: Result): boolean {
		const now = this.#now;
		if (before.at > now.lastAnswer) return true;
		const tokens = now.toolTokens - before.toolTokens;
		const isRecentTurn = behind.turn > now.turn - this.settings.keepRecentTurns;
		return isRecentTurn && tokens <= PROTECTED_TOOL_TOKENS;
	}

	#need(base: Result, by: 1 | -1): void {
		base.neededBy += by;
		this.#judge(base);
	}

	#judge(result: Result): void {
		const { item, before, isSuperseded, isRecent, neededBy } = result;
		const isCandidate =
			result.isPrunable &&
			!isRecent &&
			neededBy === 0 &&
			before.at >= this.#now.editableFrom &&
			(isSuperseded || isPrunedByAge(item, this.settings));
		if (isCandidate === result.isCandidate) return;
		result.isCandidate = isCandidate;
		this.#count += isCandidate ? 1 : -1;
		this.#freedTokens += (isCandidate ? 1 : -1) * freedFrom(item);
		if (isCandidate) this.#first = Math.min(this.#first, result.index);
	}
}
