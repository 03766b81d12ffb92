import { isUtf8 } from "node:buffer";
import { BIRTH_VERSION, Birth, type BirthParts, defaultBirth } from "../birth/index.ts";
import { hashBytes } from "../core/hash.ts";
import type { RewritableRequest, Rewriting, SavingsNote } from "../wire/exchange.ts";
import { type ReadResults, readResults, type WireResult } from "../wire/results.ts";
import { type Decided, decideOn, spliced } from "./decision.ts";
import { type BirthMarks, HIDDEN, type Mark, MemoryMarks, REFUSED, STAYS } from "./marks.ts";

export interface RewriterOptions {
	readonly marks: BirthMarks;
	/** Results that are new after this time stay as they are. Default: 20 ms of work. */
	readonly maxMs?: number;
	/** A clock in milliseconds. Default: the processor time of this thread, which a busy machine hardly changes. */
	readonly now?: () => number;
	/** Without memory of earlier requests the same comes out, in more time. Default: 8. */
	readonly maxConversations?: number;
	readonly parts?: BirthParts;
	/** Whether the result of a call with this input may have text of an excluded file. */
	readonly isExcluded?: (input: unknown) => boolean;
}

/** A conversation as its latest request left it. */
interface Known {
	readonly read: ReadResults;
	/** Has all results of the request. */
	readonly birth: Birth;
	readonly decided: readonly Decided[];
	/** When all of its marks were last written; 0 if the store may not have them. */
	readonly touchedMs: number;
}

const MAX_MS = 20;
const MAX_CONVERSATIONS = 8;
/** For the bodies of all known conversations. */
const MAX_KNOWN_BYTES = 64 * 1024 * 1024;
/** More new text than this takes longer than the time allowed. */
const MAX_NEW_CHARACTERS = 1_000_000;
const TOUCH_MS = 24 * 60 * 60_000;

/**
 * Shortens results in requests, by splicing bytes. What a result becomes is a function of the results up
 * to it and of their marks, so that requests with the same beginning are sent with the same beginning.
 */
export class Rewriter {
	readonly #marks: BirthMarks;
	readonly #maxMs: number;
	readonly #now: () => number;
	readonly #maxConversations: number;
	readonly #parts: BirthParts;
	readonly #isExcluded: RewriterOptions["isExcluded"];
	/** Marks that the store may not have. */
	readonly #unstored = new MemoryMarks();
	/** The latest used last. */
	#known: Known[] = [];

	constructor(options: RewriterOptions) {
		const { marks, maxMs = MAX_MS, now = workedMs } = options;
		const { maxConversations = MAX_CONVERSATIONS } = options;
		this.#marks = marks;
		this.#maxMs = maxMs;
		this.#now = now;
		this.#maxConversations = maxConversations;
		this.#isExcluded = options.isExcluded;
		// Folds cannot be expanded from the request alone.
		this.#parts = options.parts ?? { dedupe: defaultBirth.dedupe };
	}

	/** Never throws: what is not understood is sent as it is. */
	rewrite(request: RewritableRequest): Rewriting {
		try {
			return this.#rewrite(request);
		} catch {
			return original("failed");
		}
	}

	#rewrite({ path, encoding, body }: RewritableRequest): Rewriting {
		const startedMs = this.#now();
		const before = this.#nearest(body);
		const isPlain = encoding === undefined || encoding === "identity";
		const read = isPlain ? readResults(path, body, before?.read) : readEncoded(path);
		if (read === "other") return {};
		if (typeof read === "string") return original(read);
		if (read.results.length === 0) return {};
		if (!isUtf8(body)) return original("unreadable");
		const chains = chainsOf(read, before);
		try {
			const { decided, kept } = this.#decide(read, chains, startedMs);
			const short = spliced(read, decided);
			const savings = { ...sumOf(decided), ...(kept !== undefined && { kept }) };
			if (!short) return { savings };
			return { body: short, savings, refused: () => this.#refused(chains) };
		} catch {
			// What was sent is then unknown, so the conversation goes on as the agent writes it.
			return { savings: this.#refused(chains, "failed") };
		}
	}

	/** Decides on all results of a request, and marks those that have no mark. */
	#decide(read: ReadResults, chains: readonly string[], startedMs: number) {
		const known = this.#continued(chains);
		if (known) this.#known.splice(this.#known.indexOf(known), 1);
		const birth = known?.birth ?? new Birth(this.#parts);
		const decided = [...(known?.decided ?? [])];
		const decide = (chain: string, version: number) => {
			const index = decided.length;
			const result = read.results[index] as WireResult;
			decided.push({ chain, version, ...decideOn(birth, result, { index, version }) });
		};
		const first = decided.length;
		const stored = this.#marksOf(chains.slice(first));
		const fresh = chains.slice(first).map((chain, at) => ({
			...{ chain, index: first + at },
			mark: stored ? stored[at] : undefined,
		}));
		// What was sent before is decided again, however long that takes: other bytes would be refused.
		for (const { chain, mark } of fresh) {
			if (mark === undefined) break;
			decide(chain, mark);
		}
		const isRefused = [...decided, ...fresh.map(({ mark }) => ({ version: mark }))].some(
			({ version }) => version === REFUSED,
		);
		const kept = isRefused ? "refused" : this.#reasonToKeep(read, fresh, startedMs);
		const marks = fresh.map(({ chain, index, mark }): Mark => {
			if (mark !== undefined) return [chain, mark];
			const isAnswered = index < read.answered;
			const result = read.results[index] as WireResult;
			// There may be hundreds that were answered before.
			if (this.#isHidden(result, isAnswered ? startedMs : undefined)) return [chain, HIDDEN];
			const isNew = !isAnswered && (kept === undefined || kept === "late");
			return [chain, isNew ? BIRTH_VERSION : STAYS];
		});
		const nowMs = Date.now();
		const isOld = known !== undefined && nowMs - known.touchedMs > TOUCH_MS;
		const touched = isOld ? known.decided.map(({ chain, version }): Mark => [chain, version]) : [];
		const isMarked = stored !== undefined && this.#mark([...touched, ...marks]);
		const rest = marks.slice(decided.length - first).map(([chain, version], at): Mark => {
			const isUnknown = fresh[decided.length - first + at]?.mark === undefined;
			// What has no mark must not become shorter.
			return [chain, isMarked || !isUnknown || version === HIDDEN ? version : STAYS];
		});
		if (!isMarked) this.#unstored.put(rest);
		// Read back: another process may have marked them first.
		const agreed = isMarked ? this.#marksOf(rest.map(([chain]) => chain)) : undefined;
		for (const [at, [chain, version]] of rest.entries()) decide(chain, agreed?.[at] ?? version);
		const touchedMs = known && !isOld ? known.touchedMs : nowMs;
		this.#remember({ read, birth, decided, touchedMs: isMarked ? touchedMs : 0 });
		return { decided, kept: isMarked ? kept : "no-store" };
	}

	/** These results are sent as they are from now on, and so is what follows them. */
	#refused(chains: readonly string[], kept = "refused"): SavingsNote {
		const marks = chains.map((chain): Mark => [chain, REFUSED]);
		this.#known = this.#known.filter(({ decided }) => decided[0]?.chain !== chains[0]);
		this.#unstored.replace(marks);
		try {
			this.#marks.replace(marks);
		} catch {
			// Known until this process ends. After that, the provider refuses and is asked once more.
		}
		return { tokens: 0, results: 0, kept };
	}

	/** Whether a result may be of an excluded file. In doubt it is. */
	#isHidden({ input }: WireResult, startedMs: number | undefined): boolean {
		if (!this.#isExcluded) return false;
		const isOverdue = startedMs !== undefined && this.#now() - startedMs > this.#maxMs;
		return isOverdue || this.#isExcluded(input);
	}

	/** Why results that are seen for the first time stay as they are. */
	#reasonToKeep(
		{ results, answered, isEdited }: ReadResults,
		fresh: readonly { readonly index: number; readonly mark: number | undefined }[],
		startedMs: number,
	): string | undefined {
		const unknown = fresh.filter(({ mark }) => mark === undefined);
		if (unknown.length === 0) return undefined;
		if (unknown.every(({ index }) => index < answered)) return "late";
		if (isEdited) return "edited";
		const characters = unknown.reduce(
			(sum, { index }) => sum + (results[index]?.text?.length ?? 0),
			0,
		);
		const isSlow = characters > MAX_NEW_CHARACTERS || this.#now() - startedMs > this.#maxMs;
		return isSlow ? "slow" : undefined;
	}

	/** `undefined` if the store cannot be read. */
	#marksOf(chains: readonly string[]): (number | undefined)[] | undefined {
		try {
			return chains.map((chain) => this.#unstored.get(chain) ?? this.#marks.get(chain));
		} catch {
			return undefined;
		}
	}

	/** False if the marks could not be stored. */
	#mark(marks: readonly Mark[]): boolean {
		if (marks.length === 0) return true;
		try {
			this.#marks.put(marks);
			return true;
		} catch {
			return false;
		}
	}

	/** The conversation whose latest request begins with the most of the same bytes. */
	#nearest(body: Buffer): Known | undefined {
		let nearest: Known | undefined;
		let most = 0;
		for (const known of this.#known) {
			const { messages } = known.read;
			let low = 0;
			for (let high = messages.length; low < high; ) {
				const middle = (low + high + 1) >>> 1;
				const end = messages[middle - 1]?.end ?? 0;
				if (isSameStart(body, known.read.body, messages[low - 1]?.end ?? 0, end)) low = middle;
				else high = middle - 1;
			}
			const shared = messages[low - 1]?.end ?? 0;
			if (shared >= most) [nearest, most] = [known, shared];
		}
		return nearest;
	}

	/** The known conversation with the most results that all come first in this request. */
	#continued(chains: readonly string[]): Known | undefined {
		// Another process may have been refused what this one remembers.
		const [first] = this.#marksOf(chains.slice(0, 1)) ?? [];
		const isStart = ({ decided }: Known) =>
			decided.length > 0 &&
			chains[decided.length - 1] === decided.at(-1)?.chain &&
			(first !== REFUSED || decided[0]?.version === REFUSED);
		return this.#known
			.filter(isStart)
			.sort((one, other) => one.decided.length - other.decided.length)
			.at(-1);
	}

	#remember(known: Known): void {
		this.#known.push(known);
		let bytes = this.#known.reduce((sum, { read }) => sum + read.body.length, 0);
		while (this.#known.length > this.#maxConversations || bytes > MAX_KNOWN_BYTES) {
			bytes -= this.#known.shift()?.read.body.length ?? bytes;
		}
	}
}

function workedMs(): number {
	// Not in Node 22.
	const used = process.threadCpuUsage?.();
	return used ? (used.user + used.system) / 1000 : performance.now();
}

function original(kept: string): Rewriting {
	return { savings: { tokens: 0, results: 0, kept } };
}

function readEncoded(path: string): "other" | "encoded" {
	return readResults(path, EMPTY) === "other" ? "other" : "encoded";
}

const EMPTY = Buffer.from("{}");

function isSameStart(one: Buffer, other: Buffer, from: number, end: number): boolean {
	return end <= one.length && one.compare(other, from, end, from, end) === 0;
}

/** For each result, the hash of all that decisions about it and later ones depend on. */
function chainsOf({ format, body, messages, results }: ReadResults, before?: Known): string[] {
	const chains: string[] = [];
	// Gemini names no calls, so the first message tells conversations apart.
	const [first] = messages;
	const opening = format === "gemini" && first ? body.subarray(first.start, first.end) : "";
	let chain = hashBytes(`${format} ${hashBytes(opening)}`) as string;
	for (const [index, result] of results.entries()) {
		const isSame = before?.read.results[index] === result;
		const { id, tool, input, isError, text } = result;
		chain = isSame
			? (before.decided[index] as Decided).chain
			: hashBytes(`${chain}\n${JSON.stringify([id, tool, input, isError, text])}`).slice(0, 32);
		chains.push(chain);
	}
	return chains;
}

function sumOf(decided: readonly Decided[]): Pick<SavingsNote, "tokens" | "results"> {
	const short = decided.filter((one) => one.short !== undefined);
	return {
		tokens: short.reduce((sum, { savedTokens }) => sum + savedTokens, 0),
		results: short.length,
	};
}
