import { property } from "../../core/property.ts";
import type { Data } from "../../protocol/index.ts";
import { isTakenOut } from "../safeguards.ts";
import type { Done } from "./call.ts";
import {
	ANSWER_GONE,
	dependencyFailed,
	FAILURE_NOT_RECORDED,
	NOT_DURABLE,
	SESSION_LOST,
} from "./failures.ts";
import { type Effects, finishRecord, startRecord } from "./known-commands.ts";
import { digestOf, type Failure, failed, isLong, type Outcome, type PastRun } from "./outcome.ts";
import { type EngineParts, type InTurn, type Replies, sendNotice, sendStarted } from "./replies.ts";
import type { ReceivedCommand, Run, SessionNotice, SessionState } from "./run.ts";

export interface Applied {
	readonly effects: Effects;
	readonly notice: SessionNotice | undefined;
	/** The session that the command addressed or opened, if it still exists. */
	readonly session: SessionState | undefined;
	/** Read before the answer is serialized, so the data may be newer than this version, but never older. */
	readonly version: { sessionVersion: number } | undefined;
}

interface CompletionOptions extends EngineParts {
	readonly replies: Replies;
	/** Called when the last dependency of `run` has succeeded. */
	readonly onUnblocked: (run: Run) => void;
	readonly inTurn: InTurn;
	readonly beforeSend: (run: Run) => void;
}

/** Takes a command through its last phases: finished, durable, sent. */
export class Completion {
	readonly #options: CompletionOptions;
	readonly #toSend: Run[] = [];
	#isSending = false;

	constructor(options: CompletionOptions) {
		this.#options = options;
	}

	/** Does nothing if the handler was already called. */
	failWaiting(run: Run, failure: Failure, isKept = true): void {
		if (run.isWaiting) this.finish(run, failed(run.received.command.type, failure), { isKept });
	}

	/** The lane may advance while the outcome is made durable and sent. */
	finish(
		run: Run,
		outcome: Outcome,
		{ applied, isKept = true }: { applied?: Applied; isKept?: boolean } = {},
	): void {
		const running = run.in("running");
		const past = pastOf(run, outcome, this.#options.now());
		const keeps = isKept && (run.repeats === undefined || past.digest !== undefined);
		run.enter({
			name: "finished",
			past,
			isKept: keeps,
			isKeyFree: false,
			isStartHeld: running?.isStartHeld === true,
			notice: applied?.notice,
		});
		const writing = keeps ? this.#record(run, past, applied) : undefined;
		run.place?.lane.finished(run.place, running?.isWorking === true);
		if (writing === undefined || ANSWERS_EARLY) this.#written(run, true);
		else writing.then((isDurable) => this.#written(run, isDurable));
	}

	/** Stores the effects of a handler that returned after its command timed out or was interrupted. */
	recordLate({ received }: Run, { effects, session, notice }: Applied): void {
		const { journal, now } = this.#options;
		const { version } = effects;
		const sessionVersion = version !== undefined && { sessionVersion: version };
		const { type: command } = received.command;
		const record = {
			...startRecord(received),
			response: { type: "response" as const, command, success: true, ...sessionVersion },
			finishedAtMs: now(),
			...effects,
		};
		tracked(journal.finish(record), session).then(() => sendNotice(received.sender.tenant, notice));
	}

	// Returns the write to await before sending. Changes and timeouts must be on disk. So must any
	// change that a read saw: a crash must not undo a version that a client has seen.
	#record(run: Run, past: PastRun, applied?: Applied): Promise<boolean> | undefined {
		const { journal } = this.#options;
		const { received } = run;
		const { command, row, sender, sessionId } = received;
		if (run.repeats === undefined) {
			if (row.effect === "change" || past.outcome.response.timedOut) {
				const record = finishRecord(received, past, applied?.effects);
				return tracked(journal.finish(record), applied?.session);
			}
			if (command.id !== undefined || command.idempotencyKey !== undefined) {
				journal.note(finishRecord(received, past));
			}
		}
		return sessionId === undefined ? undefined : sender.tenant.sessions.get(sessionId)?.writing;
	}

	#written(run: Run, isDurable: boolean): void {
		const finished = run.in("finished");
		if (finished === undefined) return;
		const { received } = run;
		const { success } = finished.past.outcome.response;
		if (run.isLost && !isDurable) {
			const past = { ...finished.past, outcome: failed(received.command.type, SESSION_LOST) };
			run.enter({ ...finished, name: "durable", past, isKept: false });
		} else if (isDurable || received.row.effect !== "change") {
			run.enter({ ...finished, name: "durable" });
		} else {
			const failure = success ? NOT_DURABLE : FAILURE_NOT_RECORDED;
			const past = { ...finished.past, outcome: failed(received.command.type, failure) };
			// This failure is not kept: the journal stores the real outcome as soon as it can write again.
			run.enter({ ...finished, name: "durable", past, isKept: false });
		}
		this.#sendIfFirst(run);
	}

	/** A loop instead of recursion, because one outcome can finish a thousand dependents. */
	#sendIfFirst(first: Run): void {
		if (first.in("durable")?.isStartHeld !== false) return;
		this.#toSend.push(first);
		if (this.#isSending) return;
		this.#isSending = true;
		for (let run = this.#toSend.shift(); run !== undefined; run = this.#toSend.shift()) {
			this.#send(run);
		}
		this.#isSending = false;
	}

	#send(run: Run): void {
		const { knownCommands, replies, beforeSend, inTurn } = this.#options;
		const durable = run.in("durable");
		if (durable === undefined) return;
		const { received, place } = run;
		const { past, isKept, isKeyFree, notice } = durable;
		beforeSend(run);
		const names = { id: true, key: !isKeyFree };
		if (isKept) knownCommands.remember(received, past, names);
		else knownCommands.release(received, names);
		if (run.repeats) replies.answerRepeatedRead(run, past, run.repeats);
		else replies.send(received, past.outcome, false);
		sendNotice(received.sender.tenant, notice);
		replies.answerJoiners(run, past, inTurn);
		replies.end(received);
		run.enter({ name: "sent" });
		const next = place?.lane.leave(place);
		if (next?.releaseStart()) {
			sendStarted(next);
			this.#sendIfFirst(next);
		}
		// Dependents treat a repeated read as a success, because it succeeded the first time.
		const success = run.repeats !== undefined || past.outcome.response.success;
		for (const dependent of run.dependents ?? []) {
			// Its dependency runs on another server: who sent it waits for that.
			if (past.outcome.moved) this.failWaiting(dependent, SESSION_LOST, false);
			else if (!success) this.failWaiting(dependent, dependencyFailed(received.commandId));
			else if (dependent.fulfil(run)) this.#options.onUnblocked(dependent);
		}
	}
}

/** For tests. */
const ANSWERS_EARLY = isTakenOut("send-after-commit");

/** Resolves to whether the write succeeded. Until then, answers to reads of the session wait. */
function tracked(writing: Promise<void>, session: SessionState | undefined): Promise<boolean> {
	const safe = writing.then(
		() => true,
		() => false,
	);
	if (session === undefined) return safe;
	const done = safe.then((ok) => {
		if (session.writing === done) session.writing = undefined;
		return ok;
	});
	session.writing = done;
	return done;
}

/** A repeated read keeps its first outcome, or fails if its answer has changed. */
function pastOf({ received, repeats }: Run, outcome: Outcome, finishedAtMs: number): PastRun {
	const { command, fingerprint, row } = received;
	const isKept = fingerprint !== "" && row.effect === "read" && outcome.response.success;
	const digest = isKept && isLong(outcome) ? digestOf(outcome) : undefined;
	if (repeats === undefined) return { kind: "past", fingerprint, outcome, finishedAtMs, digest };
	if (digest === repeats.past.digest) return { ...repeats.past, outcome };
	return { kind: "past", fingerprint, outcome: failed(command.type, ANSWER_GONE), finishedAtMs };
}

/** A new session starts at version 0; every other change increments the version. */
export function applyDone({ row, sender, sessionId }: ReceivedCommand, done: Done): Applied {
	const { sessions } = sender.tenant;
	const effects: Effects = done.session === undefined ? {} : { session: done.session };
	let notice: SessionNotice | undefined;
	let session: SessionState | undefined;
	if (done.removed !== undefined) {
		sessions.delete(done.removed);
		effects.removed = done.removed;
		notice = { type: "session_deleted", data: { sessionId: done.removed } };
	}
	if (done.opened && done.session) {
		const { id } = done.session;
		session = { version: 0, writing: undefined };
		sessions.set(id, session);
		effects.version = 0;
		const sessionInfo = property(done.data, "sessionInfo") as Data<"SessionInfo"> | undefined;
		const data = { sessionId: id, ...(sessionInfo && { sessionInfo }) };
		notice = { type: "session_created", data };
	} else {
		const id = done.session?.id ?? sessionId;
		session = id === undefined ? undefined : sessions.get(id);
		if (session !== undefined && row.target === "session" && row.effect === "change") {
			session.version += 1;
			effects.version = session.version;
		}
	}
	return { effects, notice, session, version: session && { sessionVersion: session.version } };
}
