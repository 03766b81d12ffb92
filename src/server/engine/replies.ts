import type { Journal } from "../journal/journal.ts";
import type { EngineCounters } from "./engine.ts";
import type { Identities, Past } from "./identities.ts";
import { tellOutcome } from "./lifecycle.ts";
import { type Failure, failed, type Outcome } from "./outcome.ts";
import { aliasRecord } from "./records.ts";
import type { NewNames, Repeated, Request, Run } from "./run.ts";

export interface RepliesOptions {
	journal: Journal;
	identities: Identities;
	/** Counted here. */
	counters: EngineCounters;
	anonymousId: () => string;
	/** Told of repetitions that are answered with a success, and how to get at the data of that. */
	replayed: (request: Request, data: () => unknown) => void;
	/** Told of commands that were begun and have their answer now. */
	ended: (request: Request) => void;
}

/** Calls `answer`, which sends the outcome, when it is the turn of the request. */
export type InTurn = (request: Request, outcome: Outcome, answer: () => void) => void;

/**
 * Answers admitted commands, exactly once each: with an outcome of their own, with that of an earlier command of the same
 * name, or with a refusal. Repetitions take no place in any lane and start nothing.
 */
export class Replies {
	readonly #options: RepliesOptions;
	#idle: (() => void)[] = [];
	#pendingBytes = 0;

	constructor(options: RepliesOptions) {
		this.#options = options;
	}

	/** How large the frames of all commands are that were begun and have no answer yet. */
	get pendingBytes(): number {
		return this.#pendingBytes;
	}

	/** The command's answer will take a while. */
	begin({ seat, bytes }: Request): void {
		seat.pending += 1;
		seat.tenant.pending += 1;
		seat.tenant.pendingBytes += bytes;
		this.#pendingBytes += bytes;
		this.#options.counters.pending += 1;
	}

	/** The command that was begun has its answer. */
	end(request: Request): void {
		const { counters, ended } = this.#options;
		const { seat, bytes } = request;
		ended(request);
		seat.pending -= 1;
		seat.tenant.pending -= 1;
		seat.tenant.pendingBytes -= bytes;
		this.#pendingBytes -= bytes;
		counters.pending -= 1;
		if (seat.pending === 0 && seat.onAnswered.length > 0) {
			for (const resolve of seat.onAnswered.splice(0)) resolve();
		}
		if (counters.pending > 0) return;
		for (const resolve of this.#idle.splice(0)) resolve();
	}

	/** Resolves when every command that was begun has its answer. */
	async whenIdle(): Promise<void> {
		if (this.#options.counters.pending === 0) return;
		const { promise, resolve } = Promise.withResolvers<void>();
		this.#idle.push(resolve);
		await promise;
	}

	tell(request: Request, outcome: Outcome, replayed: boolean): void {
		const { counters } = this.#options;
		counters.finished += 1;
		if (!outcome.response.success) counters.failed += 1;
		if (outcome.response.timedOut && !replayed) counters.timedOut += 1;
		if (replayed) counters.replayed += 1;
		tellOutcome(request, outcome, replayed);
		if (replayed && outcome.response.success) {
			this.#options.replayed(request, () => JSON.parse(outcome.json).data);
		}
	}

	/** Answers with a failure that is not kept: the same command may be sent again. */
	refuse(request: Request, failure: Failure): void {
		this.tell(request, failed(request.command.type, failure), false);
	}

	/** Answers with the outcome of a command that is over. */
	replay(request: Request, past: Past, names: NewNames): void {
		if (past.owed || !isNamed(request, names)) {
			this.tell(request, past.outcome, true);
			return;
		}
		this.begin(request);
		this.#options.identities.remember(request, past, names);
		this.#replayUnderNewName(request, past, names, () => this.#finish(request, past));
	}

	/** Answers a read that was done again: with what it was answered before, or with why not. */
	repeated(
		{ request, remembered, keyIsGone }: Run,
		past: Past,
		{ past: first, names }: Repeated,
	): void {
		const { identities, journal, anonymousId } = this.#options;
		this.tell(request, past.outcome, remembered);
		if (remembered) {
			if (!isNamed(request, names)) return;
			journal.note(aliasRecord(request, past, { names, anonymousId }));
		} else identities.remember(request, first, { id: !names.id, key: !names.key && !keyIsGone });
	}

	/** Will answer with the outcome of a command under way, once it has one. */
	join(request: Request, run: Run, names: NewNames): void {
		this.begin(request);
		this.#options.identities.claim(request, run, names);
		run.joiners ??= [];
		run.joiners.push({ request, names });
	}

	/** Answers those who joined a command that is over now, each when `inTurn` says so. */
	answerJoiners({ joiners, remembered, keyIsGone }: Run, past: Past, inTurn: InTurn): void {
		for (const { request, names: claimed } of joiners ?? []) {
			const names = { id: claimed.id, key: claimed.key && !keyIsGone };
			if (remembered) this.#options.identities.remember(request, past, names);
			else this.#options.identities.forget(request, names);
			const finish = () => inTurn(request, past.outcome, () => this.#finish(request, past));
			if (remembered && isNamed(request, names)) {
				this.#replayUnderNewName(request, past, names, finish);
			} else finish();
		}
	}

	/**
	 * A new name is kept as safely as the command's first one, or a repetition under it after a crash would be a new
	 * command. A journal that fails is no reason to hold back an outcome that stands.
	 */
	#replayUnderNewName(request: Request, past: Past, names: NewNames, finish: () => void): void {
		const { journal, anonymousId } = this.#options;
		const record = aliasRecord(request, past, { names, anonymousId });
		if (request.row.effect === "change") journal.finish(record).then(finish, finish);
		else {
			journal.note(record);
			finish();
		}
	}

	#finish(request: Request, past: Past): void {
		this.tell(request, past.outcome, true);
		this.end(request);
	}
}

/** Whether the request has a name of these kinds at all. */
function isNamed({ command }: Request, names: NewNames): boolean {
	return (
		(names.id && command.id !== undefined) || (names.key && command.idempotencyKey !== undefined)
	);
}
