import { laneOf, type Response } from "../../protocol/index.ts";
import type { Journal } from "../journal/journal.ts";
import type { Call, Done, Handler, Handlers } from "./call.ts";
import type { Client } from "./client.ts";
import { Clocks } from "./clocks.ts";
import { waitsForSlow } from "./dependencies.ts";
import { Ending } from "./ending.ts";
import type { EngineLimits } from "./engine.ts";
import * as failures from "./failures.ts";
import type { Identities } from "./identities.ts";
import { keepLate } from "./keeping.ts";
import { Lane } from "./lane.ts";
import { tellNews, tellStarted } from "./lifecycle.ts";
import {
	type Failure,
	failed,
	failureOf,
	isLong,
	type Outcome,
	outcomeOf,
	writtenOutcome,
} from "./outcome.ts";
import { ReadQueue } from "./read-queue.ts";
import { admittedRecord } from "./records.ts";
import type { Replies } from "./replies.ts";
import { type Request, Run } from "./run.ts";
import type { Tenant } from "./tenant.ts";
import { type Applied, applyDone, sessionFailure } from "./versions.ts";

export interface ExecutionOptions {
	journal: Journal;
	handlers: Handlers;
	limits: EngineLimits;
	identities: Identities;
	replies: Replies;
	now: () => number;
	/** Milliseconds that never go back. */
	clock: () => number;
}

/** Takes new commands from their place in line through their handler to their {@link Ending}. */
export class Execution {
	readonly #options: ExecutionOptions;
	readonly #clocks: Clocks;
	readonly #ending: Ending;
	readonly #reads: ReadQueue<Run>;
	readonly #runs = new Set<Run>();
	/** Repetitions of reads whose answer stands and waits for its turn. */
	readonly #unanswered = new Set<Run>();
	#stopped = false;

	constructor(options: ExecutionOptions) {
		const { limits, clock } = options;
		this.#options = options;
		this.#clocks = new Clocks(limits, clock, {
			waitedTooLong: (run, forWhat) =>
				this.#ending.failWaiting(run, failures.waitTimeout(forWhat, limits)),
			workedTooLong: (run, ms) => this.#stop(run, failures.timeout(ms)),
			graceOver: (run) => run.lane?.release(run),
		});
		this.#reads = new ReadQueue({
			tenantOf: ({ request }) => request.seat.tenant,
			lineOf: ({ lane, request }) => lane ?? request.seat,
			// A client that does not read must not hold a lane.
			hasRoom: ({ lane, request }) => lane !== undefined || request.seat.client.hasRoom !== false,
			whenRoom: async ({ request }) => request.seat.client.whenRoom?.(),
			work: (run) => this.#takeTurn(run),
			clock,
		});
		this.#ending = new Ending({
			...options,
			decided: (run) => this.#clocks.decided(run),
			freed: (run) => {
				this.#clocks.hasDependencies(run);
				this.#beginIfReady(run);
			},
			inTurn: (request, outcome, answer) => this.#answerInTurn(request, outcome, answer),
			over: (run) => this.#runs.delete(run),
		});
	}

	/** Puts a command in line, where it may run at once. What it depends on is noted in it. */
	start(run: Run): void {
		this.#enter(run);
		const { command, row, seat } = run.request;
		run.slow = run.timeout !== "short" || waitsForSlow(run);
		if (row.effect === "change") this.#admit(run);
		if (row.path === "lane") this.#lane(seat.tenant, laneOf(command)).join(run);
		else this.#startControl(run);
		if (run.phase === "waiting") this.#clocks.waitsForTurn(run);
	}

	/** Ends a command that was never in line, with an outcome that is kept. */
	fail(run: Run, failure: Failure): void {
		this.#enter(run);
		this.#ending.failWaiting(run, failure);
	}

	/** Ends all that is under way with a stored failure. Nothing begins any more. */
	interrupt(): void {
		this.#stopped = true;
		for (const run of this.#runs) this.#ending.failWaiting(run, failures.interruptedWaiting);
		for (const run of this.#runs) {
			if (run.phase === "running") this.#stop(run, failures.interruptedRunning);
		}
		for (const run of this.#unanswered) this.#takeTurn(run);
	}

	/**
	 * Ends reads that wait for clients that will not get them, unless another command waits for them too: a server that
	 * stops does not carry them out.
	 */
	interruptReads(isLost: (client: Client) => boolean): void {
		for (const run of this.#runs) {
			const { joiners, dependents, request } = run;
			const isAwaited =
				!isLost(request.seat.client) || joiners !== undefined || dependents !== undefined;
			if (takesTurns(run) && !isAwaited) this.#ending.failWaiting(run, failures.interruptedWaiting);
		}
		for (const run of this.#unanswered) if (isLost(run.request.seat.client)) this.#takeTurn(run);
	}

	close(): void {
		this.#clocks.close();
	}

	#enter(run: Run): void {
		this.#runs.add(run);
		this.#options.replies.begin(run.request);
	}

	#admit(run: Run): void {
		run.admitted = false;
		this.#options.journal.admit(admittedRecord(run.request)).then(
			() => {
				run.admitted = true;
				this.#beginIfReady(run);
			},
			(thrown) => {
				run.remembered = run.phase !== "waiting";
				this.#ending.failWaiting(run, failures.admissionRefused(thrown));
			},
		);
	}

	#lane(tenant: Tenant, name: string): Lane {
		let lane = tenant.lanes.get(name);
		if (lane === undefined) {
			lane = new Lane({
				giveTurn: (run) => this.#giveTurn(run),
				emptied: () => tenant.lanes.delete(name),
			});
			tenant.lanes.set(name, lane);
		}
		return lane;
	}

	#startControl(run: Run): void {
		const { lanes } = run.request.seat.tenant;
		const lane = lanes.size === 0 ? undefined : lanes.get(laneOf(run.request.command));
		if (lane === undefined) this.#giveTurn(run);
		else lane.joinControl(run);
	}

	#giveTurn(run: Run): void {
		if (run.phase !== "waiting") return;
		run.hasTurn = true;
		// Waiting for a dependency counts from here: before, the command would have had to wait anyway.
		if (run.dependencies !== undefined) this.#clocks.waitsForDependency(run);
		this.#beginIfReady(run);
	}

	#beginIfReady(run: Run): void {
		if (run.phase !== "waiting" || !run.hasTurn || !run.admitted) return;
		if (run.dependencies !== undefined || this.#stopped) return;
		if (takesTurns(run)) this.#reads.add(run);
		else this.#begin(run);
	}

	/** It is the turn of a read: to begin, or to go on. */
	#takeTurn(run: Run): void {
		const { resume } = run;
		run.resume = undefined;
		if (resume !== undefined) resume();
		else if (run.phase === "waiting" && !this.#stopped) this.#begin(run);
	}

	#resumeInTurn(run: Run, resume: () => void): void {
		run.resume = resume;
		this.#reads.add(run);
	}

	/** Thousands may have joined one read: its long answer goes to each of them as if that had read by itself. */
	#answerInTurn(request: Request, outcome: Outcome, answer: () => void): void {
		if (request.row.effect !== "read" || !isLong(outcome) || this.#stopped) {
			answer();
			return;
		}
		const waiting = new Run(request, "none");
		this.#unanswered.add(waiting);
		this.#resumeInTurn(waiting, () => {
			this.#unanswered.delete(waiting);
			this.#reads.spend(outcome.json.length);
			answer();
		});
	}

	#begin(run: Run): void {
		const { request } = run;
		const failure = sessionFailure(request);
		if (failure !== undefined) {
			this.#ending.failWaiting(run, failure);
			return;
		}
		run.phase = "running";
		run.working = true;
		if (run.lane === undefined || run.lane.isFirst(run)) tellStarted(run);
		else run.startHeld = true;
		this.#clocks.works(run);
		this.#call(run).then(
			(done) => this.#done(run, done ?? {}),
			(thrown) => this.#threw(run, thrown),
		);
	}

	#call(run: Run): Promise<Done> {
		try {
			const handler = this.#options.handlers[run.request.command.type] as Handler;
			return Promise.resolve(handler(new RunCall(run, this.#turnOf)));
		} catch (thrown) {
			return Promise.reject(thrown);
		}
	}

	readonly #turnOf = (run: Run): Promise<void> => {
		if (!takesTurns(run) || this.#reads.isAtWork(run)) return Promise.resolve();
		return new Promise((resolve) => this.#resumeInTurn(run, resolve));
	};

	#done(run: Run, done: Done): void {
		const applied = applyDone(run.request, done);
		if (done.removed !== undefined) {
			this.#options.identities.forgetKeys(run.request.seat.tenant, done.removed);
		}
		run.working = false;
		if (run.phase !== "running") {
			this.#doneLate(run, applied);
			this.#endedLate(run);
			return;
		}
		run.news = applied.news;
		// As it is now, also if the answer is written later: data may be newer than its version, never older.
		const version = applied.session && { sessionVersion: applied.session.version };
		if (!takesTurns(run) || this.#reads.isAtWork(run)) {
			this.#finish(run, done, { applied, version });
			return;
		}
		// It waited for something, perhaps together with many others: writing the answer takes a turn, too.
		this.#clocks.worked(run);
		this.#resumeInTurn(run, () => this.#finish(run, done, { applied, version }));
	}

	#finish(
		run: Run,
		done: Done,
		{ applied, version }: { applied: Applied; version: Version },
	): void {
		if (run.phase !== "running") return;
		const outcome = this.#outcomeOf(run, done, version);
		if (takesTurns(run)) this.#reads.spend(outcome.json.length);
		this.#ending.decide(run, outcome, applied);
	}

	#threw(run: Run, thrown: unknown): void {
		run.working = false;
		if (run.phase !== "running") this.#endedLate(run);
		else this.#ending.decide(run, failed(run.request.command.type, failureOf(thrown)));
	}

	#outcomeOf(run: Run, { data, written, notDurable }: Done, version: Version): Outcome {
		const { command, row } = run.request;
		const { type } = command;
		if (notDurable !== undefined) {
			return failed(type, { code: "not_durable", error: notDurable, ...version });
		}
		const { maxAnswerBytes } = this.#options.limits;
		const done: Response = { type: "response", command: type, success: true, ...version };
		try {
			const outcome = written
				? writtenOutcome(done, written, data)
				: outcomeOf(data === undefined ? done : { ...done, data });
			if (outcome.json.length <= maxAnswerBytes) return outcome;
			// That a change was made has to be told in any case.
			if (row.effect === "change") return outcomeOf(done);
			return failed(type, failures.answerTooLarge(outcome.json.length, maxAnswerBytes));
		} catch {
			if (run.news?.kind === "opened") run.news = { ...run.news, info: {} };
			return failed(type, { ...failures.notJson, ...version });
		}
	}

	/** What a command did after its outcome stood has happened all the same; only the outcome stays what it is. */
	#doneLate(run: Run, applied: Applied): void {
		const { journal, now } = this.#options;
		if (run.request.row.effect !== "change") return;
		keepLate(journal, run, applied, now()).then(() => {
			if (applied.news !== undefined) tellNews(run.request.seat.tenant, applied.news);
		});
	}

	#endedLate(run: Run): void {
		this.#clocks.ended(run);
		run.lane?.release(run);
	}

	/** Decides a command whose handler is at work, and tells that to stop. */
	#stop(run: Run, failure: Failure): void {
		run.abort();
		this.#ending.decide(run, failed(run.request.command.type, failure));
	}
}

/** The version of the session that a command was about, if there is one. */
type Version = { sessionVersion: number } | undefined;

/** Whether a command is one of those that could hold up all others by their number. */
function takesTurns({ request: { row } }: Run): boolean {
	return row.effect === "read" && row.attaches !== true;
}

/** A call whose signal is made when somebody asks for it. A class: an object with a getter of its own takes longer. */
class RunCall implements Call {
	readonly command: Call["command"];
	readonly principal: string;
	readonly client: Call["client"];
	readonly #run: Run;
	readonly #turnOf: (run: Run) => Promise<void>;

	constructor(run: Run, turnOf: (run: Run) => Promise<void>) {
		const { command, seat } = run.request;
		this.command = command;
		this.principal = seat.tenant.principal;
		this.client = seat.client;
		this.#run = run;
		this.#turnOf = turnOf;
	}

	turn(): Promise<void> {
		return this.#turnOf(this.#run);
	}

	get signal(): AbortSignal {
		return this.#run.signal;
	}
}
