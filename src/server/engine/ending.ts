import { property } from "../../core/property.ts";
import type { Data } from "../../protocol/index.ts";
import type { Done } from "./call.ts";
import { answerGone, dependencyFailed, notDurable } from "./failures.ts";
import { type Effects, finishRecord, startRecord } from "./identities.ts";
import { digestOf, type Failure, failed, isLong, type Outcome, type Past } from "./outcome.ts";
import { type EngineParts, type InTurn, type Replies, sendNews, sendStarted } from "./replies.ts";
import type { Request, Run, SessionNews, SessionState } from "./run.ts";

export interface Applied {
	effects: Effects;
	news: SessionNews | undefined;
	/** The session it addressed or opened, if it still exists. */
	session: SessionState | undefined;
	/** Read before the answer is serialized: data may be newer than its version, never older. */
	version: { sessionVersion: number } | undefined;
}

export interface EndingOptions extends EngineParts {
	replies: Replies;
	/** The last dependency of a command has succeeded. */
	freed: (run: Run) => void;
	inTurn: InTurn;
	/** Called right before an outcome is sent. */
	over: (run: Run) => void;
}

/** The end of a command: finished, then durable, then sent. */
export class Ending {
	readonly #options: EndingOptions;
	readonly #toSend: Run[] = [];
	#isSending = false;

	constructor(options: EndingOptions) {
		this.#options = options;
	}

	/** Does nothing once the handler was called. */
	failWaiting(run: Run, failure: Failure, isKept = true): void {
		if (run.isWaiting) this.finish(run, failed(run.request.command.type, failure), { isKept });
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
			isKeyGone: false,
			isStartHeld: running?.isStartHeld === true,
			news: applied?.news,
		});
		const durable = keeps ? this.#keep(run, past, applied) : undefined;
		run.place?.lane.finished(run.place, running?.isWorking === true);
		if (durable === undefined) this.#durable(run, true);
		else durable.then((isDurable) => this.#durable(run, isDurable));
	}

	/** Journals the effects of a handler that returned after its outcome was known. */
	keepLate({ request }: Run, { effects, session, news }: Applied): void {
		const { journal, now } = this.#options;
		const { version } = effects;
		const sessionVersion = version !== undefined && { sessionVersion: version };
		const { type: command } = request.command;
		const record = {
			...startRecord(request),
			response: { type: "response" as const, command, success: true, ...sessionVersion },
			finishedAtMs: now(),
			...effects,
		};
		written(journal.finish(record), session).then(() => sendNews(request.sender.tenant, news));
	}

	// Returns the write to await before sending. Changes and timeouts must be on disk, and so must
	// the change a read has seen: a crash must not take back a version that a client knows.
	#keep(run: Run, past: Past, applied?: Applied): Promise<boolean> | undefined {
		const { journal } = this.#options;
		const { request } = run;
		const { command, row, sender, sessionId } = request;
		if (run.repeats === undefined) {
			if (row.effect === "change" || past.outcome.response.timedOut) {
				const record = finishRecord(request, past, applied?.effects);
				return written(journal.finish(record), applied?.session);
			}
			if (command.id !== undefined || command.idempotencyKey !== undefined) {
				journal.note(finishRecord(request, past));
			}
		}
		return sessionId === undefined ? undefined : sender.tenant.sessions.get(sessionId)?.writing;
	}

	#durable(run: Run, isDurable: boolean): void {
		const finished = run.in("finished");
		if (finished === undefined) return;
		const { request } = run;
		const { success } = finished.past.outcome.response;
		if (isDurable || request.row.effect !== "change" || !success) {
			run.enter({ ...finished, name: "durable" });
		} else {
			const past = { ...finished.past, outcome: failed(request.command.type, notDurable) };
			// The journal has the real outcome, once it can write it.
			run.enter({ ...finished, name: "durable", past, isKept: false });
		}
		this.#sendIfFirst(run);
	}

	/** A loop, not recursion: one outcome can finish a thousand dependents. */
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
		const { identities, replies, over, inTurn } = this.#options;
		const durable = run.in("durable");
		if (durable === undefined) return;
		const { request, place } = run;
		const { past, isKept, isKeyGone, news } = durable;
		over(run);
		const names = { id: true, key: !isKeyGone };
		if (isKept) identities.remember(request, past, names);
		else identities.forget(request, names);
		if (run.repeats) replies.repeat(run, past, run.repeats);
		else replies.send(request, past.outcome, false);
		sendNews(request.sender.tenant, news);
		replies.answerJoiners(run, past, inTurn);
		replies.end(request);
		run.enter({ name: "sent" });
		const next = place?.lane.leave(place);
		if (next?.releaseStart()) {
			sendStarted(next);
			this.#sendIfFirst(next);
		}
		// Dependents need the first success of a repeated read, not this one.
		const success = run.repeats !== undefined || past.outcome.response.success;
		for (const dependent of run.dependents ?? []) {
			if (!success) this.failWaiting(dependent, dependencyFailed(request.commandId));
			else if (dependent.fulfil(run)) this.#options.freed(dependent);
		}
	}
}

/** Reads of the session wait for the write. */
function written(writing: Promise<void>, session: SessionState | undefined): Promise<boolean> {
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
function pastOf({ request, repeats }: Run, outcome: Outcome, finishedAtMs: number): Past {
	const { command, fingerprint, row } = request;
	const isKept = fingerprint !== "" && row.effect === "read" && outcome.response.success;
	const digest = isKept && isLong(outcome) ? digestOf(outcome) : undefined;
	if (repeats === undefined) return { kind: "past", fingerprint, outcome, finishedAtMs, digest };
	if (digest === repeats.past.digest) return { ...repeats.past, outcome };
	return { kind: "past", fingerprint, outcome: failed(command.type, answerGone), finishedAtMs };
}

/** A new session starts at version 0; every other change increments the version. */
export function applyDone({ row, sender, sessionId }: Request, done: Done): Applied {
	const { sessions } = sender.tenant;
	const effects: Effects = done.session === undefined ? {} : { session: done.session };
	let news: SessionNews | undefined;
	let session: SessionState | undefined;
	if (done.removed !== undefined) {
		sessions.delete(done.removed);
		effects.removed = done.removed;
		news = { type: "session_deleted", data: { sessionId: done.removed } };
	}
	if (done.opened && done.session) {
		const { id } = done.session;
		session = { version: 0, writing: undefined };
		sessions.set(id, session);
		effects.version = 0;
		const sessionInfo = property(done.data, "sessionInfo") as Data<"SessionInfo"> | undefined;
		const data = { sessionId: id, ...(sessionInfo && { sessionInfo }) };
		news = { type: "session_created", data };
	} else {
		const id = done.session?.id ?? sessionId;
		session = id === undefined ? undefined : sessions.get(id);
		if (session !== undefined && row.target === "session" && row.effect === "change") {
			session.version += 1;
			effects.version = session.version;
		}
	}
	return { effects, news, session, version: session && { sessionVersion: session.version } };
}
