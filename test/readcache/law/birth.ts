/** Shortening at birth as our own extension does it, and what must hold of it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { SessionManager } from "@earendil-works/pi-coding-agent";
import { LiveBirth } from "../../../src/birth/live.ts";
import { restoredEntries, restoreLines, withRestored } from "../../../src/birth/restore.ts";
import type { Config } from "../../../src/core/config.ts";
import { ExcludedValues } from "../../../src/core/excluded-values.ts";
import { hashBytes } from "../../../src/core/hash.ts";
import { isCacheAnswer, touchesExcluded } from "../../../src/readcache/index.ts";
import { lastBoundAnswer } from "../../../src/session/cache-clock.ts";
import { type Ledger, type SessionView, shortenedOf } from "../../../src/session/index.ts";
import type { PendingEdits } from "../../../src/session/pending-edits.ts";
import type { Call } from "./calls.ts";
import type { Result } from "./meddlers.ts";
import { type Slot, textOf } from "./oracle.ts";
import { expandedIn } from "./references.ts";

export interface GameBirth {
	/** The result as our extension leaves it. Throws if it cannot be expanded from the request. */
	shorten(call: Call, result: Result, request: Slot[], manager: SessionManager): Promise<Result>;
	/** The request as our handler leaves it for those behind it. */
	restore(request: Slot[], manager: SessionManager): Slot[];
	/** The end of a turn. Returns what was persisted. */
	persist(manager: SessionManager): string[];
}

interface GameBirthOptions {
	config: Config;
	cwd: string;
	ledger: Ledger;
	edits: PendingEdits;
	/** The model's thinking is bound to what was sent before it. */
	binds: boolean;
}

export function createGameBirth(options: GameBirthOptions): GameBirth {
	const { config, cwd, ledger, edits, binds } = options;
	// The files of the game are small.
	const birth = { ...config.birth, minLines: 3, minChars: 100, minTokens: 1 };
	const values = new ExcludedValues({ root: cwd, exclude: [], env: {} });
	const facts = { isCacheAnswer, touchesExcluded };
	const live = new LiveBirth({ config: { ...config, birth }, cwd, ledger, values }, facts);
	const viewOf = (sessionManager: SessionManager) => {
		const cache = {
			rules: { bindsThinking: binds },
			boundAnswer: lastBoundAnswer(sessionManager, () => binds),
		};
		const window = { tokens: undefined, size: 1_000_000 };
		return { ledger, edits, sessionManager, cache, window } as unknown as SessionView;
	};
	return {
		restore(request, manager) {
			const view = viewOf(manager);
			restoreLines(view);
			const messages = request.map(({ message }) => message);
			const sent = withRestored(messages, view);
			if (sent === messages) return request;
			return request.map(({ entryId }, at) => ({ entryId, message: sent[at] }));
		},
		persist(manager) {
			const entries = restoredEntries(viewOf(manager), []);
			for (const { targetId, replacement } of entries)
				manager.appendContextEdit(targetId, replacement);
			return entries.map(({ targetId }) => targetId);
		},
		async shorten({ id, name, args }, result, request, manager) {
			const event = { toolCallId: id, toolName: name, input: args, details: undefined, ...result };
			const changed = await live.shorten(event, manager);
			if (!changed) return result;
			const note = shortenedOf(changed);
			const [shown, original] = [textOf(changed.content) ?? "", textOf(result.content) ?? ""];
			if (!note || shown.length >= original.length) throw new Error(`${id} did not get shorter`);
			const stored = readFileSync(join(config.blobs.dir, `${note.original}.txt`), "utf8");
			if (stored !== original) throw new Error(`the exact text of ${id} is not stored`);
			const expanded = expandedIn(shown, request);
			if (expanded === undefined) throw new Error(`${id} refers to what is not there: ${shown}`);
			if (hashBytes(expanded) !== note.expanded) throw new Error(`${id} refers to other lines`);
			// Of output with control characters, the law of quiet output is what a terminal shows.
			const isRendered = expanded.startsWith("[strata: as a terminal shows it");
			if (!isRendered && unfolded(expanded) !== original)
				throw new Error(`${id} became another text`);
			return { ...result, ...changed };
		},
	};
}

const EQUAL = /^\[strata: (\d+) more lines? equal to the line above(?:; exact output: read .+)?\]$/;

/** The lines that folds stand for. The commands of the game print no others. */
function unfolded(text: string): string {
	const lines: string[] = [];
	for (const line of text.split("\n")) {
		const [, count] = EQUAL.exec(line) ?? [];
		if (count === undefined) lines.push(line);
		else lines.push(...Array(Number(count)).fill(lines.at(-1)));
	}
	return lines.join("\n");
}

/**
 * Every reference in a request can be expanded by what stands above it, but for results that thinking stands behind.
 * `isExempt` tells which these are. Returns how many were looked at.
 */
export function checkReferences(
	request: readonly Slot[],
	isExempt: (slot: Slot, place: number) => boolean,
): number {
	let looked = 0;
	for (const [place, slot] of request.entries()) {
		const { message } = slot;
		const text = message?.role === "toolResult" ? textOf(message.content) : undefined;
		const note = shortenedOf({ details: (message as { details?: unknown })?.details });
		if (!note || text === undefined || hashBytes(text) !== note.shown) continue;
		if (note.references.length === 0 || isExempt(slot, place)) continue;
		looked++;
		const expanded = expandedIn(text, request.slice(0, place));
		if (expanded !== undefined && hashBytes(expanded) === note.expanded) continue;
		throw new Error(`${slot.entryId} refers to what is gone: ${text.slice(0, 200)}`);
	}
	return looked;
}

/** What a pruning leaves of references: those that could be expanded still can, or are replaced themselves. */
export function checkBacked(before: readonly Slot[], after: readonly Slot[]): number {
	let backed = 0;
	for (const [place, { entryId, message }] of before.entries()) {
		const text = message?.role === "toolResult" ? textOf(message.content) : undefined;
		const note = shortenedOf({ details: (message as { details?: unknown })?.details });
		// Another extension may have copied a reference, or dropped its note.
		if (!note || text === undefined || hashBytes(text) !== note.shown) continue;
		const meant = expandedIn(text, before.slice(0, place));
		if (meant === undefined || meant === text) continue;
		if (textOf(after[place]?.message?.content) !== text) continue;
		backed++;
		if (expandedIn(text, after.slice(0, place)) === meant) continue;
		throw new Error(`pruning took lines that ${entryId} refers to`);
	}
	return backed;
}
