import { laneOf } from "../../protocol/index.ts";
import type { Journal } from "../journal/journal.ts";
import type { Call, Done, Handler, Handlers } from "./call.ts";
import { Deadlines } from "./deadlines.ts";
import { dropDependencies, waitsForSlow } from "./dependencies.ts";
import type { EngineLimits } from "./engine.ts";
import * as failures from "./failures.ts";
import type { Identities, Past } from "./identities.ts";
import { keepLate, keepOutcome } from "./keeping.ts";
import { Lane } from "./lane.ts";
import { tellNews, tellPhase } from "./lifecycle.ts";
import { type Failure, failed, failureOf, type Outcome, outcomeOf } from "./outcome.ts";
import { admittedRecord } from "./records.ts";
import type { Replies } from "./replies.ts";
import type { Run } from "./run.ts";
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

/**
 * Takes new commands from their place in line to their response: waiting, running, deciding the outcome, keeping it,
 * telling it. A lane goes on when a command is decided; what is told keeps the lane's order.
 */
export class Execution {
	readonly #options: ExecutionOptions;
	readonly #runs = new Set<Run>();
	readonly #queue: Deadlines<Run>;
	readonly #dependency: Deadlines<Run>;
	readonly #short: Deadlines<Run>;
	readonly #long: Deadlines<Run>;
	readonly #grace: Deadlines<Run>;
	readonly #toTell: Run[] = [];
	#telling = false;
	#stopped = false;

	constructor(options: ExecutionOptions) {
		const { clock } = options;
		const { queueMs, dependencyMs, shortMs, longMs, graceMs } = options.limits;
		const fail = (failure: Failure) => (run: Run) => this.#failWaiting(run, failure);
		this.#options = options;
		this.#queue = new Deadlines(queueMs, clock, fail(failures.queueTimeout(queueMs)));
		this.#dependency = new Deadlines(
			dependencyMs,
			clock,
			fail(failures.dependencyTimeout(dependencyMs)),
		);
		this.#short = new Deadlines(shortMs, clock, (run) => this.#timeOut(run, shortMs));
		this.#long = new Deadlines(longMs, clock, (run) => this.#timeOut(run, longMs));
		this.#grace = new Deadlines(graceMs, clock, (run) => this.#releaseLane(run));
	}

	/** Puts a command in line, where it may run at once. What it depends on is noted in it. */
	start(run: Run): void {
		this.#enter(run);
		const { command, row, seat } = run.request;
		run.slow = run.timeout !== "short" || waitsForSlow(run);
		if (row.effect === "change") this.#admit(run);
		if (row.path === "lane") this.#lane(seat.tenant, laneOf(command)).join(run);
		else this.#startControl(run);
		if (run.phase === "waiting") run.waitDeadline = this.#queue.add(run);
	}

	/** Ends a command that was never in line, with an outcome that is kept. */
	fail(run: Run, failure: Failure): void {
		this.#enter(run);
		this.#failWaiting(run, failure);
	}

	/** Ends all that is under way with a stored failure. Nothing begins any more. */
	interrupt(): void {
		this.#stopped = true;
		for (const run of this.#runs) this.#failWaiting(run, failures.interruptedWaiting);
		for (const run of this.#runs) {
			if (run.phase !== "running") continue;
			run.abort();
			this.#decide(run, failed(run.request.command.type, failures.interruptedRunning));
		}
	}

	/** Leaves no timer behind, except for the grace of what was told to stop and has not. */
	close(): void {
		for (const deadlines of [this.#queue, this.#dependency, this.#short, this.#long]) {
			deadlines.close();
		}
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
				this.#failWaiting(run, failures.admissionRefused(thrown));
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
		if (run.dependencies !== undefined) run.dependencyDeadline = this.#dependency.add(run);
		this.#beginIfReady(run);
	}

	#beginIfReady(run: Run): void {
		if (run.phase !== "waiting" || !run.hasTurn || !run.admitted) return;
		if (run.dependencies === undefined && !this.#stopped) this.#begin(run);
	}

	#begin(run: Run): void {
		const { request } = run;
		const failure = sessionFailure(request);
		if (failure !== undefined) {
			this.#failWaiting(run, failure);
			return;
		}
		this.#disarm(run);
		run.phase = "running";
		run.working = true;
		if (run.lane === undefined || run.lane.isFirst(run)) tellPhase("command_started", request);
		else run.startHeld = true;
		if (run.timeout === "short") run.workDeadline = this.#short.add(run);
		else if (run.timeout === "long") run.workDeadline = this.#long.add(run);
		this.#call(run).then(
			(done) => this.#done(run, done ?? {}),
			(thrown) => this.#threw(run, thrown),
		);
	}

	#call(run: Run): Promise<Done> {
		const { command, seat } = run.request;
		const call: Call = {
			command,
			principal: seat.tenant.principal,
			client: seat.client,
			get signal() {
				return run.signal;
			},
		};
		try {
			return Promise.resolve((this.#options.handlers[command.type] as Handler)(call));
		} catch (thrown) {
			return Promise.reject(thrown);
		}
	}

	#done(run: Run, done: Done): void {
		run.working = false;
		const applied = applyDone(run.request, done);
		if (run.phase === "running") {
			run.news = applied.news;
			this.#decide(run, this.#outcomeOf(run, done, applied), applied);
			return;
		}
		this.#doneLate(run, applied);
		this.#releaseLane(run);
	}

	#threw(run: Run, thrown: unknown): void {
		run.working = false;
		if (run.phase === "running") {
			this.#decide(run, failed(run.request.command.type, failureOf(thrown)));
		} else this.#releaseLane(run);
	}

	#outcomeOf(run: Run, { data }: Done, { session }: Applied): Outcome {
		const { type } = run.request.command;
		const version = session && { sessionVersion: session.version };
		try {
			return outcomeOf({
				type: "response",
				command: type,
				success: true,
				...(data !== undefined && { data }),
				...version,
			});
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

	#failWaiting(run: Run, failure: Failure): void {
		if (run.phase === "waiting") this.#decide(run, failed(run.request.command.type, failure));
	}

	#timeOut(run: Run, afterMs: number): void {
		run.abort();
		this.#decide(run, failed(run.request.command.type, failures.timeout(afterMs)));
	}

	/** The outcome stands from here on. */
	#decide(run: Run, outcome: Outcome, applied?: Applied): void {
		const { journal, now } = this.#options;
		this.#disarm(run);
		dropDependencies(run);
		run.phase = "decided";
		run.past = {
			kind: "past",
			fingerprint: run.request.fingerprint,
			outcome,
			finishedAtMs: now(),
		};
		const safety = run.remembered ? keepOutcome(journal, run, run.past, applied) : undefined;
		if (run.working && run.lane !== undefined) run.graceDeadline = this.#grace.add(run);
		run.lane?.decided(run);
		if (safety === undefined) this.#safe(run, true);
		else safety.then((ok) => this.#safe(run, ok));
	}

	/** The outcome may be told, as soon as it is the lane's turn to speak of it. */
	#safe(run: Run, kept: boolean): void {
		const past = run.past as Past;
		const { effect } = run.request.row;
		if (!kept && effect === "change" && past.outcome.response.success) {
			run.past = { ...past, outcome: failed(run.request.command.type, failures.outcomeLost) };
		}
		run.safe = true;
		if (!run.startHeld) this.#tell(run);
	}

	/** A loop, not a recursion: telling one outcome can decide a thousand others that depended on it. */
	#tell(told: Run): void {
		this.#toTell.push(told);
		if (this.#telling) return;
		this.#telling = true;
		for (let run = this.#toTell.shift(); run !== undefined; run = this.#toTell.shift()) {
			this.#tellOne(run, run.past as Past);
		}
		this.#telling = false;
	}

	#tellOne(run: Run, past: Past): void {
		const { identities, replies } = this.#options;
		const { request } = run;
		run.phase = "told";
		this.#runs.delete(run);
		if (run.remembered) identities.remember(request, past);
		else identities.forget(request);
		replies.tell(request, past.outcome, false);
		if (run.news !== undefined) tellNews(request.seat.tenant, run.news);
		replies.answerJoiners(run, past);
		replies.end(request);
		const next = run.lane?.leave(run);
		if (next?.startHeld) {
			next.startHeld = false;
			tellPhase("command_started", next.request);
			if (next.safe) this.#tell(next);
		}
		this.#tellDependents(run, past.outcome.response.success);
	}

	#tellDependents(run: Run, success: boolean): void {
		for (const dependent of run.dependents ?? []) {
			if (!success) {
				this.#failWaiting(dependent, failures.dependencyFailed(run.request.commandId));
				continue;
			}
			dependent.dependencies?.delete(run);
			if (dependent.dependencies?.size !== 0) continue;
			dependent.dependencies = undefined;
			if (dependent.dependencyDeadline) this.#dependency.remove(dependent.dependencyDeadline);
			this.#beginIfReady(dependent);
		}
	}

	#releaseLane(run: Run): void {
		if (run.graceDeadline !== undefined) this.#grace.remove(run.graceDeadline);
		run.lane?.release(run);
	}

	#disarm({ timeout, waitDeadline, dependencyDeadline, workDeadline }: Run): void {
		if (waitDeadline !== undefined) this.#queue.remove(waitDeadline);
		if (dependencyDeadline !== undefined) this.#dependency.remove(dependencyDeadline);
		if (workDeadline !== undefined) {
			(timeout === "short" ? this.#short : this.#long).remove(workDeadline);
		}
	}
}
