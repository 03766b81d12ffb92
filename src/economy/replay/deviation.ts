import type { PromptTokens } from "../../core/bill.ts";
import { counted } from "../../text/figures.ts";
import { MISS_CAUSES } from "../../text/miss-causes.ts";
import { costOf } from "../rules.ts";
import { firstPrompt, promptSize } from "./billed.ts";
import { cachedAfter, isLate, NOISE_TOKENS, type ReplayMiss, visibleCause } from "./misses.ts";
import type { ReplaySession, Step } from "./requests.ts";

interface Costs {
	readonly simulated: number;
	readonly billed: number;
}

/** How well replay reproduces the bill, given the cache losses that the bills show. */
export interface DeviationCheck extends Costs {
	readonly deviation: number;
	/** What the difference consists of, request by request; the largest part first. */
	readonly differences: readonly Difference[];
	/** The same in words, if the deviation is larger than 2 %. */
	readonly reasons?: readonly string[];
}

interface Difference {
	readonly reason: string;
	/** Simulated minus billed, in plain input tokens. */
	readonly cost: number;
	/** How many requests it is from. */
	readonly requests: number;
}

/** A larger deviation is explained. */
const MOST_DEVIATION = 0.02;

/** Smaller parts of the bill are not worth a line. */
const LEAST_PART = 0.001;

/** `simulated` has the tokens of each request without copies, as if no cache had been lost. */
export function checkDeviation(
	session: ReplaySession,
	simulated: readonly PromptTokens[],
	misses: readonly ReplayMiss[],
): DeviationCheck {
	const unforeseen = new Set(
		misses.filter(({ isUnforeseen }) => isUnforeseen).map(({ request }) => request),
	);
	const parts: Difference[] = [];
	let before: Step | undefined;
	let request = 0;
	let cost = 0;
	let billed = 0;
	for (const step of session.steps()) {
		if (!step.isCopy) {
			const tokens = simulated[request++] as PromptTokens;
			const most = unforeseen.has(request) ? step.billed.read : tokens.read;
			const given = withReads(tokens, Math.min(most, tokens.read), step);
			cost += costOf(given, step.model.rules);
			billed += costOf(step.billed, step.model.rules);
			parts.push(...differencesIn(before, step, given));
		}
		before = step;
	}
	return deviationOf(cost, billed, parts);
}

/** Of several sessions together. */
export function joinChecks(checks: readonly DeviationCheck[]): DeviationCheck {
	const sum = (of: (check: DeviationCheck) => number) =>
		checks.reduce((total, check) => total + of(check), 0);
	return deviationOf(
		sum(({ simulated }) => simulated),
		sum(({ billed }) => billed),
		checks.flatMap(({ differences }) => differences),
	);
}

function deviationOf(
	simulated: number,
	billed: number,
	parts: readonly Difference[],
): DeviationCheck {
	const deviation = simulated / billed - 1;
	const differences = Array.from(
		Map.groupBy(parts, ({ reason }) => reason),
		([reason, same]): Difference => ({
			reason,
			cost: same.reduce((sum, part) => sum + part.cost, 0),
			requests: same.reduce((sum, part) => sum + part.requests, 0),
		}),
	).sort((a, b) => Math.abs(b.cost) - Math.abs(a.cost));
	const isLarge = Math.abs(deviation) > MOST_DEVIATION;
	return {
		...{ simulated, billed, deviation, differences },
		...(isLarge && { reasons: reasonTexts(differences, { simulated, billed }) }),
	};
}

/** Parts that are too small for a line belong to what is not explained. */
function reasonTexts(differences: readonly Difference[], { simulated, billed }: Costs): string[] {
	const isShown = (cost: number) => Math.abs(cost) >= LEAST_PART * billed;
	const explained = differences.filter(
		({ reason, cost }) => reason !== UNEXPLAINED && isShown(cost),
	);
	const rest = explained.reduce((left, { cost }) => left - cost, simulated - billed);
	const lines = explained.map(
		({ reason, cost, requests }) =>
			`${percent(cost / billed)} in ${counted(requests, "request")}: ${reason}`,
	);
	return isShown(rest) ? [...lines, `${percent(rest / billed)}: ${UNEXPLAINED}`] : lines;
}

/** Formats a signed share, such as `+2.31 %`. */
export function percent(share: number): string {
	return `${share < 0 ? "−" : "+"}${Math.abs(share * 100).toFixed(2)} %`;
}

/** The part that comes from other reads, and the part that comes from other writes. */
function differencesIn(before: Step | undefined, step: Step, given: PromptTokens): Difference[] {
	const { billed, model } = step;
	const readAlike = withReads(given, billed.read, step);
	const costs = [given, readAlike, billed].map((tokens) => costOf(tokens, model.rules));
	const [simulated = 0, alike = 0, actual = 0] = costs;
	return [
		{ reason: readReason(before, step, given), cost: simulated - alike, requests: 1 },
		{ reason: writeReason(billed, readAlike), cost: alike - actual, requests: 1 },
	].filter(({ cost }) => Math.abs(cost) >= 1);
}

const UNEXPLAINED = "not explained";

function readReason(before: Step | undefined, step: Step, given: PromptTokens): string {
	const surplus = step.billed.read - given.read;
	if (Math.abs(surplus) <= NOISE_TOKENS) {
		return "the provider read up to 1,024 tokens more or less, which counts as its rounding";
	}
	return surplus > 0 ? surplusReason(before, step) : lackReason(before, step, given);
}

/** The provider read more than its documented rules foresee. */
function surplusReason(before: Step | undefined, step: Step): string {
	if (!before) return "the first request read what other sessions had cached";
	if (isLate(before, step)) {
		return "the provider read from the cache after its documented lifetime: it kept it longer, or another session used the same start";
	}
	if (firstPrompt(step).read > cachedAfter(before, true) + NOISE_TOKENS) {
		return "the provider read more than the previous request left in the cache, so a request is missing from the file or belongs to another session";
	}
	const change = visibleCause(before, step);
	return change
		? `${MISS_CAUSES[change]}, and more stayed the same than the file shows`
		: UNEXPLAINED;
}

/** The provider read less than its documented rules foresee. */
function lackReason(before: Step | undefined, step: Step, given: PromptTokens): string {
	if (!before) return UNEXPLAINED;
	const change = visibleCause(before, step);
	if (change) return `${MISS_CAUSES[change]}, and less stayed the same than the file shows`;
	if (isLate(before, step)) {
		return "after its documented lifetime, the provider had kept only a part of the cache";
	}
	const cached = cachedAfter(before, false);
	return given.read > cached
		? "the previous request had cached less than the documented rules foresee"
		: UNEXPLAINED;
}

function writeReason(billed: PromptTokens, given: PromptTokens): string {
	if (billed.write > given.write) {
		return "the bill has cache writes that the documented rules count as plain input";
	}
	return billed.write < given.write
		? "the bill has plain input that the documented rules count as cache writes"
		: "the bill has cache writes for another lifetime than the documented rules foresee";
}

/** The same prompt with other reads: what is not read is written, if the provider bills writes. */
function withReads(tokens: PromptTokens, read: number, { model, ttl }: Step): PromptTokens {
	const { maxBreakpoints, writeRatio } = model.rules;
	const missing = tokens.read - read;
	const isWritten = maxBreakpoints > 0 || writeRatio !== 1;
	// Further reads take the place of writes, then of plain input.
	const written = isWritten ? Math.max(missing, -tokens.write) : 0;
	const write = tokens.write + written;
	const oneHour = tokens.writeOneHour + (ttl === "1h" ? written : 0);
	return {
		read,
		input: promptSize(tokens) - read - write,
		write,
		writeOneHour: Math.min(write, Math.max(0, oneHour)),
	};
}
