import { getOrAdd } from "../../core/get-or-add.ts";
import { laneOf, type Response } from "../../protocol/index.ts";
import { AlreadyKnown } from "../journal/journal.ts";
import type { EngineLimits } from "../limits.ts";
import type { Call, Done, Handler, Handlers } from "./call.ts";
import { type Applied, applyDone, Completion } from "./completion.ts";
import { Deadlines } from "./deadlines.ts";
import * as failures from "./failures.ts";
import { startRecord } from "./known-commands.ts";
import { Lane } from "./lane.ts";
import type { Client } from "./message.ts";
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
import { type EngineParts, type Replies, sendStarted } from "./replies.ts";
import type { ReceivedCommand, Run, Tenant } from "./run.ts";

interface ExecutionOptions extends EngineParts {
	readonly handlers: Handlers;
	readonly limits: EngineLimits;
	readonly replies: Replies;
}

/** The commands that a command must wait for, or why it cannot depend on them. */
export interface Dependencies {
	readonly failure?: Failure;
	readonly dependencies?: Set<Run>;
}

/** Runs accepted commands: queues each, calls its handler, and passes the result to {@link Completion}. */
export class Execution {
	readonly #options: ExecutionOptions;
	readonly #deadlines: Record<"turn" | "dependency" | "short" | "long" | "grace", Deadlines<Run>>;
	readonly #completion: Completion;
	readonly #reads: ReadQueue<Turn>;
	readonly #runs = new Set<Run>();
	/** Pending turns; each sends a long answer to one joiner (see `Replies.join`). */
	readonly #unanswered = new Set<Turn>();
	#isStopped = false;

	constructor(options: ExecutionOptions) {
		const { clock } = options;
		const { queueMs, dependencyMs, shortMs, longMs, graceMs } = options.limits;
		const after = (ms: number, expired: (run: Run) => void) => new Deadlines(ms, clock, expired);
		const fail = (failure: Failure) => (run: Run) => this.#completion.failWaiting(run, failure);
		this.#options = options;
		this.#deadlines = {
			turn: after(queueMs, fail(failures.turnTimeout(queueMs))),
			dependency: after(dependencyMs, fail(failures.dependencyTimeout(dependencyMs))),
			short: after(shortMs, (run) => this.#stop(run, failures.timeout(shortMs))),
			long: after(longMs, (run) => this.#stop(run, failures.timeout(longMs))),
			grace: after(graceMs, ({ place }) => place?.lane.release(place)),
		};
		this.#reads = new ReadQueue({
			tenantOf: ({ received }) => received.sender.tenant,
			queueOf: ({ run, received }) => run?.place?.lane ?? received.sender,
			// Reads in a lane run even without room: a client under backpressure must not block the lane.
			hasRoom: ({ run, received }) =>
				run?.place !== undefined || received.sender.client.hasRoom !== false,
			whenRoom: async ({ received }) => received.sender.client.whenRoom?.(),
			work: (turn) => turn.take(),
			clock,
		});
		this.#completion = new Completion({
			...options,
			onUnblocked: (run) => this.#beginIfReady(run),
			inTurn: (received, outcome, answer) => this.#answerInTurn(received, outcome, answer),
			beforeSend: (run) => this.#runs.delete(run),
		});
	}

	/** May call the command's handler before it returns. */
	start(run: Run, { failure, dependencies }: Dependencies): void {
		this.#runs.add(run);
		this.#options.replies.begin(run.received);
		if (failure !== undefined) {
			this.#completion.failWaiting(run, failure);
			return;
		}
		const { command, row, sender } = run.received;
		const isChange = row.effect === "change";
		for (const dependency of dependencies ?? []) {
			dependency.dependents ??= new Set();
			dependency.dependents.add(run);
		}
		run.isSlow = run.timeout !== "short" || isBehindSlow(dependencies);
		run.enter({ name: "queued", hasTurn: false, isRecorded: !isChange, dependencies });
		if (isChange) this.#record(run);
		const { tenant } = sender;
		if (row.path === "lane") {
			this.#lane(tenant, laneOf(command)).join(run, run.isSlow, (place) => {
				run.place = place;
			});
		} else {
			const lane = tenant.lanes.size === 0 ? undefined : tenant.lanes.get(laneOf(command));
			if (lane === undefined) this.#giveTurn(run);
			else lane.joinControl(run);
		}
		if (run.in("queued")) run.note("queued", { turnDeadline: this.#deadlines.turn.add(run) });
	}

	/** Whether no command can start any more. */
	get isStopped(): boolean {
		return this.#isStopped;
	}

	/** Fails all commands in flight and stores these outcomes. No command starts afterwards. */
	interrupt(): void {
		this.#isStopped = true;
		for (const run of this.#runs) this.#completion.failWaiting(run, failures.INTERRUPTED_WAITING);
		for (const run of this.#runs) {
			if (run.in("running")) this.#stop(run, failures.INTERRUPTED_RUNNING);
		}
		for (const turn of this.#unanswered) turn.take();
	}

	isBusy(tenant: Tenant, sessionId: string): boolean {
		for (const { received } of this.#runs) {
			if (received.sender.tenant === tenant && received.sessionId === sessionId) return true;
		}
		return false;
	}

	/** Fails the commands of a session that another process has now. Their outcomes are that one's to record. */
	lose(tenant: Tenant, sessionId: string): void {
		for (const run of this.#runs) {
			const { sender, sessionId: id } = run.received;
			if (sender.tenant !== tenant || id !== sessionId) continue;
			run.isLost = true;
			this.#completion.failWaiting(run, failures.SESSION_LOST, false);
			if (run.in("running")) this.#stop(run, failures.SESSION_LOST, false);
		}
	}

	/** At shutdown, fails the waiting reads of lost clients, except reads that another command waits for. */
	interruptReads(isLost = ({ gone }: Client) => gone): void {
		for (const run of this.#runs) {
			const { joiners, dependents, received } = run;
			const isAwaited = joiners !== undefined || dependents !== undefined;
			if (!takesTurns(run) || isAwaited || !isLost(received.sender.client)) continue;
			this.#completion.failWaiting(run, failures.INTERRUPTED_WAITING);
		}
		for (const turn of this.#unanswered) if (isLost(turn.received.sender.client)) turn.take();
	}

	/** Clears all timers, except the grace periods of aborted handlers that still run. */
	close(): void {
		const { grace: _, ...others } = this.#deadlines;
		for (const deadlines of Object.values(others)) deadlines.close();
	}

	/** A change runs only after the journal has recorded its start. */
	#record(run: Run): void {
		this.#options.journal.admit(startRecord(run.received)).then(
			() => {
				if (run.note("queued", { isRecorded: true })) this.#beginIfReady(run);
			},
			(thrown) => {
				if (!run.isWaiting) return;
				const outcome =
					thrown instanceof AlreadyKnown
						? outcomeElsewhere(run, thrown)
						: failed(run.received.command.type, failures.notRecorded(thrown));
				this.#completion.finish(run, outcome, { isKept: false });
			},
		);
	}

	#lane(tenant: Tenant, name: string): Lane<Run> {
		return getOrAdd(tenant.lanes, name, () => {
			const onEmpty = () => tenant.lanes.delete(name);
			return new Lane<Run>({ giveTurn: (run) => this.#giveTurn(run), onEmpty });
		});
	}

	#giveTurn(run: Run): void {
		if (!run.note("queued", { hasTurn: true })) return;
		// The dependency timeout starts with the turn, because the command had to wait for it anyway.
		if (run.in("queued")?.dependencies !== undefined) {
			run.note("queued", { dependencyDeadline: this.#deadlines.dependency.add(run) });
		}
		this.#beginIfReady(run);
	}

	#beginIfReady(run: Run): void {
		const queued = run.in("queued");
		if (!queued?.hasTurn || !queued.isRecorded || queued.dependencies || this.#isStopped) return;
		if (takesTurns(run)) this.#takeTurn(run, () => this.#begin(run));
		else this.#begin(run);
	}

	#takeTurn(run: Run, take: () => void): void {
		this.#reads.add({ received: run.received, run, take });
	}

	#hasTurn(run: Run): boolean {
		return !takesTurns(run) || this.#reads.current?.run === run;
	}

	/** Sends each long answer in a separate turn, because a read may have thousands of joiners. */
	#answerInTurn(received: ReceivedCommand, outcome: Outcome, answer: () => void): void {
		if (received.row.effect !== "read" || !isLong(outcome) || this.#isStopped) {
			answer();
			return;
		}
		const take = () => {
			if (!this.#unanswered.delete(turn)) return; // an interrupt already sent it
			this.#reads.spend(outcome.json.length);
			answer();
		};
		const turn: Turn = { received, run: undefined, take };
		this.#unanswered.add(turn);
		this.#reads.add(turn);
	}

	#begin(run: Run): void {
		if (!run.in("queued") || this.#isStopped) return;
		const { received, place } = run;
		const failure = sessionFailure(received);
		if (failure !== undefined) {
			this.#completion.failWaiting(run, failure);
			return;
		}
		const isStartHeld = place !== undefined && !place.lane.isFirst(place);
		const { timeout } = run;
		const deadline = timeout === "none" ? undefined : this.#deadlines[timeout].add(run);
		run.enter({ name: "running", isWorking: true, isStartHeld, deadline });
		if (!isStartHeld) sendStarted(run);
		this.#call(run).then(
			(done) => this.#done(run, done ?? {}),
			(thrown) => this.#threw(run, thrown),
		);
	}

	#call(run: Run): Promise<Done> {
		try {
			const handler = this.#options.handlers[run.received.command.type] as Handler;
			return Promise.resolve(handler(new RunCall(run, this.#turnOf)));
		} catch (thrown) {
			return Promise.reject(thrown);
		}
	}

	readonly #turnOf = (run: Run): Promise<void> => {
		if (this.#hasTurn(run)) return Promise.resolve();
		return new Promise((resolve) => this.#takeTurn(run, resolve));
	};

	#done(run: Run, done: Done): void {
		const { received } = run;
		const applied = applyDone(received, done);
		if (done.removed !== undefined) {
			this.#options.knownCommands.releaseKeys(received.sender.tenant.principal, done.removed);
		}
		if (!run.note("running", { isWorking: false })) {
			// The command already timed out or was interrupted, but its change did happen.
			if (received.row.effect === "change") this.#completion.recordLate(run, applied);
			if (run.place) run.place.lane.release(run.place);
			return;
		}
		if (this.#hasTurn(run)) this.#finish(run, done, applied);
		else {
			// The turn ended while the handler waited. Many may finish at once, so each serializes in a new turn.
			run.in("running")?.deadline?.cancel();
			this.#takeTurn(run, () => this.#finish(run, done, applied));
		}
	}

	#finish(run: Run, done: Done, applied: Applied): void {
		if (!run.in("running")) return;
		const outcome = this.#outcomeOf(run, done, applied);
		if (takesTurns(run)) this.#reads.spend(outcome.json.length);
		this.#completion.finish(run, outcome, { applied });
	}

	#threw(run: Run, thrown: unknown): void {
		if (run.note("running", { isWorking: false })) {
			this.#completion.finish(run, failed(run.received.command.type, failureOf(thrown)));
		} else if (run.place) run.place.lane.release(run.place);
	}

	#outcomeOf(
		{ received: { command, row } }: Run,
		{ data, written, notDurable }: Done,
		{ notice, version }: Applied,
	): Outcome {
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
			// The change was made, so the response must report success, without the large data.
			if (row.effect === "change") return outcomeOf(done);
			return failed(type, failures.answerTooLarge(outcome.json.length, maxAnswerBytes));
		} catch {
			if (notice) notice.data = { sessionId: notice.data.sessionId };
			return failed(type, { ...failures.NOT_JSON, ...version });
		}
	}

	/** Aborts and fails a running command. Its lane waits up to `graceMs` for the handler to return. */
	#stop(run: Run, failure: Failure, isKept = true): void {
		run.abort();
		if (run.in("running")?.isWorking) this.#deadlines.grace.add(run);
		this.#completion.finish(run, failed(run.received.command.type, failure), { isKept });
	}
}

/** For an id that another process admitted first. */
function outcomeElsewhere({ received }: Run, { command: known }: AlreadyKnown): Outcome {
	const { type, id } = received.command;
	if (known.fingerprint !== received.fingerprint) return failed(type, failures.idConflict(id));
	return known.response ? outcomeOf(known.response) : failed(type, failures.IN_FLIGHT_ELSEWHERE);
}

/** Most reads take turns; otherwise a large number of them could starve everything else. */
function takesTurns({ received: { row } }: Run): boolean {
	return row.effect === "read" && row.attaches !== true;
}

function isBehindSlow(runs: Iterable<Run> = []): boolean {
	for (const { isSlow, place } of runs) if (isSlow || place?.lane.isBehindSlow(place)) return true;
	return false;
}

/** A read's turn to begin, to continue, or to be answered. */
interface Turn {
	readonly received: ReceivedCommand;
	/** Absent for the answer to a joiner. */
	readonly run: Run | undefined;
	take(): void;
}

/** A class, because an object literal with a getter is slower. */
class RunCall implements Call {
	readonly command: Call["command"];
	readonly principal: string;
	readonly client: Call["client"];
	readonly #run: Run;
	readonly #turnOf: (run: Run) => Promise<void>;

	constructor(run: Run, turnOf: (run: Run) => Promise<void>) {
		const { command, sender } = run.received;
		this.command = command;
		this.principal = sender.tenant.principal;
		this.client = sender.client;
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

function sessionFailure({ command, row, sender, sessionId }: ReceivedCommand): Failure | undefined {
	const expected = command.ifSessionVersion;
	if (sessionId === undefined || (row.target !== "session" && expected === undefined)) {
		return undefined;
	}
	const session = sender.tenant.sessions.get(sessionId);
	if (session === undefined) return failures.unknownSession(sessionId);
	if (expected === undefined || expected === session.version) return undefined;
	return failures.versionMismatch(sessionId, session.version, expected);
}
