import { getOrAdd } from "../core/get-or-add.ts";
import type { SessionBlock } from "../economy/replay/index.ts";
import type { PruneEffect } from "../economy/rewrite-plan.ts";
import type { ToolResultItem } from "../session/index.ts";
import {
	type CandidateSettings,
	isPrunable,
	isPrunedByAge,
	PROTECTED_TOOL_TOKENS,
} from "./candidates.ts";
import { freedFrom } from "./pruner.ts";
import { MAX_STUB_TOKENS } from "./stub.ts";
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
	/** Ids of the results whose lines this one shows by reference. */
	readonly refersTo: readonly number[];
	readonly bases: readonly Result[];
	/** Results that it refers to by lines, as far as they can be candidates, and those that refer to it. */
	readonly lineBases: readonly Result[];
	readonly referrers: Result[];
	/** Number of the latter that are too short to be pruned by themselves. */
	briefReferrers: number;
	/** Number of results that keep this one: recent ones of its file, and those that refer to its lines and stay. */
	neededBy: number;
	/** Number of its line bases that are candidates. */
	basesThatGo: number;
	isRecent: boolean;
	isSuperseded: boolean;
	/** Whether nothing keeps it. */
	mayGo: boolean;
	/** Whether it is pruned with the next batch: it is large enough, or in the way of one that is. */
	isCandidate: boolean;
}

type NewResult = Pick<Result, "item" | "touch" | "before" | "behind" | "refersTo">;

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
	readonly #byId = new Map<string, Result>();
	readonly #files = new Map<string, FileState>();
	#now: Mark;
	/** Results before `#recentFrom` are no longer recent. Results before `#editable` are not editable. */
	#recentFrom = 0;
	#editable = 0;
	/** No result before this index is prunable and editable. */
	#frontier = 0;
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
		if (!item) return;
		this.#addResult({ item, touch, before, behind: this.#now, refersTo: block.refersTo ?? [] });
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
		const { editableFrom } = this.#now;
		const isPast = ({ isPrunable, before }: Result) => !isPrunable || before.at < editableFrom;
		let next = this.#results[this.#frontier];
		while (next && isPast(next)) next = this.#results[++this.#frontier];
		return next?.before.at;
	}

	#firstCandidate(): Result {
		while (!this.#results[this.#first]?.isCandidate) this.#first++;
		return this.#results[this.#first] as Result;
	}

	#addResult({ item, touch, before, behind, refersTo }: NewResult): void {
		const prunable = isPrunable(item);
		// The lines that a result refers to stay as long as the result itself.
		const lineBases = refersTo.flatMap((id) => this.#byId.get(String(id)) ?? []);
		for (const base of lineBases) {
			if (!prunable) base.briefReferrers++;
			this.#need(base, 1);
		}
		// The result is never pruned, and no other result depends on it.
		if (!prunable && !touch && lineBases.length === 0) return;
		const newFile = (): FileState => ({ alive: [], lastReference: -1 });
		const file = touch && getOrAdd(this.#files, touch.file, newFile);
		const result: Result = {
			...{ index: this.#results.length, item, touch, before, behind, refersTo },
			isPrunable: prunable,
			bases: file && touch?.kind === "refers" ? [...file.alive] : [],
			...{ lineBases, referrers: [], briefReferrers: 0, basesThatGo: 0, mayGo: false },
			neededBy: 0,
			isRecent: true,
			isSuperseded: false,
			isCandidate: false,
		};
		this.#results.push(result);
		this.#byId.set(item.entryId, result);
		for (const base of lineBases) base.referrers.push(result);
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

	/** A change of one result can change those that it refers to, and those that refer to it. */
	#judge(result: Result): void {
		const open = [result];
		for (let next = open.pop(); next; next = open.pop()) {
			const mayGo = this.#mayGo(next);
			if (mayGo !== next.mayGo) {
				next.mayGo = mayGo;
				for (const base of next.lineBases) base.neededBy += mayGo ? -1 : 1;
				open.push(...next.lineBases);
			}
			const isCandidate = mayGo && (next.isPrunable || next.basesThatGo > 0);
			if (isCandidate === next.isCandidate) continue;
			next.isCandidate = isCandidate;
			const by = isCandidate ? 1 : -1;
			this.#count += by;
			this.#freedTokens += by * freedBy(next);
			if (isCandidate) this.#first = Math.min(this.#first, next.index);
			for (const referrer of next.referrers) referrer.basesThatGo += by;
			open.push(...next.referrers);
		}
	}

	/** A result that is too short to be pruned by itself may go if it is all that keeps the ones it refers to. */
	#mayGo({ item, before, isSuperseded, isRecent, neededBy, ...result }: Result): boolean {
		const { isPrunable, lineBases, briefReferrers } = result;
		const canHaveStub = isPrunable || (lineBases.length > 0 && !item.isError);
		if (!canHaveStub || isRecent || neededBy > 0) return false;
		if (before.at < this.#now.editableFrom) return false;
		const added = briefReferrers * MAX_STUB_TOKENS;
		if (added > 0 && item.tokens - MAX_STUB_TOKENS <= added) return false;
		return isSuperseded || isPrunedByAge(item, this.settings);
	}
}

/** The stub of a short result is longer than the result. */
function freedBy({ item, isPrunable }: Result): number {
	return isPrunable ? freedFrom(item) : item.tokens - MAX_STUB_TOKENS;
}
