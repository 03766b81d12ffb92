import type { Birth } from "../birth/index.ts";
import { BIRTH_VERSION } from "../birth/index.ts";
import { estimateTokens } from "../core/tokens.ts";
import type { ReadResults, WireResult } from "../wire/results.ts";
import { HIDDEN } from "./marks.ts";

/** What was decided about a result. */
export interface Decided {
	readonly chain: string;
	/** Its mark. */
	readonly version: number;
	/** The JSON string to send instead of the result's own. */
	readonly short?: Buffer;
	readonly savedTokens: number;
}

/** Decides as the mark says. `birth` has the results before this one, and then this one. */
export function decideOn(
	birth: Birth,
	{ id, tool, input, text, isError, place, size }: WireResult,
	{ index, version }: { readonly index: number; readonly version: number },
): Pick<Decided, "short" | "savedTokens"> {
	// A name with a space is never part of a reference.
	const result = { id: id ?? `result ${index}`, tool, input, text, isError };
	if (version === HIDDEN) {
		birth.add({ ...result, text: undefined });
		return { savedTokens: 0 };
	}
	const shorter = version === BIRTH_VERSION ? birth.shorten(result) : undefined;
	const short = shorter && Buffer.from(JSON.stringify(shorter.text));
	const saved = short ? place.end - place.start - short.length : 0;
	// A text with many escapes could be longer than its bytes.
	if (!shorter || !short || saved <= 0) {
		birth.add(result);
		return { savedTokens: 0 };
	}
	birth.add(result, shorter.text);
	return { short, savedTokens: estimateTokens(size) - estimateTokens(size - saved) };
}

/** The body with the short forms in place of the results' own; `undefined` if there are none. */
export function spliced(
	{ body, results }: ReadResults,
	decided: readonly Decided[],
): Buffer | undefined {
	const parts: Buffer[] = [];
	let copied = 0;
	for (const [index, { short }] of decided.entries()) {
		if (!short) continue;
		const { place } = results[index] as WireResult;
		parts.push(body.subarray(copied, place.start), short);
		copied = place.end;
	}
	if (parts.length === 0) return undefined;
	parts.push(body.subarray(copied));
	return joined(parts);
}

/** In memory of its own, so that it can be transferred. */
function joined(parts: readonly Buffer[]): Buffer {
	const whole = Buffer.allocUnsafeSlow(parts.reduce((sum, part) => sum + part.length, 0));
	let at = 0;
	for (const part of parts) at += part.copy(whole, at);
	return whole;
}
