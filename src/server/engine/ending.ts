import type { Journal } from "../journal/journal.ts";
import { dropDependencies } from "./dependencies.ts";
import { answerGone, dependencyFailed, notDurable } from "./failures.ts";
import type { Identities, Past } from "./identities.ts";
import { keepOutcome, safetyOfReading } from "./keeping.ts";
import { tellNews, tellStarted } from "./lifecycle.ts";
import { digestOf, type Failure, failed, isLong, type Outcome } from "./outcome.ts";
import type { InTurn, Replies } from "./replies.ts";
import type { Run } from "./run.ts";
import type { Applied } from "./versions.ts";

export interface EndingOptions {
	journal: Journal;
	identities: Identities;
	replies: Replies;
	now: () => number;
	/** Told of every command whose outcome stands now. */
	decided: (run: Run) => void;
	/** Told of commands that have nothing left to depend on. */
	freed: (run: Run) => void;
	/** When those are answered who joined a command. */
	inTurn: InTurn;
	/** Told of every command right before its outcome is. */
	over: (run: Run) => void;
}

/** The end of a command: its outcome is decided, then kept, then told, each once. */
export class Ending {
	readonly #options: EndingOptions;
	readonly #toTell: Run[] = [];
	#telling = false;

	constructor(options: EndingOptions) {
		this.#options = options;
	}

	/** Ends a command that has not begun; one that has is left alone. */
	failWaiting(run: Run, failure: Failure): void {
		if (run.phase === "waiting") this.decide(run, failed(run.request.command.type, failure));
	}

	/** The outcome stands from here on. The lane may go on, while this one is kept and told. */
	decide(run: Run, outcome: Outcome, applied?: Applied): void {
		const { journal, now, decided } = this.#options;
		dropDependencies(run);
		run.phase = "decided";
		run.past = pastOf(run, outcome, now());
		run.remembered &&= run.repeats === undefined || run.past.digest !== undefined;
		const safety = !run.remembered
			? undefined
			: run.repeats
				? safetyOfReading(run)
				: keepOutcome(journal, run, run.past, applied);
		decided(run);
		run.lane?.decided(run);
		if (safety === undefined) this.#safe(run, true);
		else safety.then((kept) => this.#safe(run, kept));
	}

	/** The outcome may be told, as soon as it is the lane's turn to speak of it. */
	#safe(run: Run, kept: boolean): void {
		const { request, past } = run;
		if (!kept && request.row.effect === "change" && past?.outcome.response.success) {
			run.past = { ...past, outcome: failed(request.command.type, notDurable) };
			// The journal knows how it ended, and when that is on disk.
			run.remembered = false;
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
		const { identities, replies, over, inTurn } = this.#options;
		const { request } = run;
		run.phase = "told";
		over(run);
		const names = { id: true, key: !run.keyIsGone };
		if (run.remembered) identities.remember(request, past, names);
		else identities.forget(request, names);
		if (run.repeats) replies.repeated(run, past, run.repeats);
		else replies.tell(request, past.outcome, false);
		if (run.news !== undefined) tellNews(request.seat.tenant, run.news);
		replies.answerJoiners(run, past, inTurn);
		replies.end(request);
		const next = run.lane?.leave(run);
		if (next?.startHeld) {
			next.startHeld = false;
			tellStarted(next);
			if (next.safe) this.#tell(next);
		}
		// What is read again has succeeded before, and that is what others depend on.
		this.#tellDependents(run, run.repeats !== undefined || past.outcome.response.success);
	}

	#tellDependents(run: Run, success: boolean): void {
		for (const dependent of run.dependents ?? []) {
			if (!success) {
				this.failWaiting(dependent, dependencyFailed(run.request.commandId));
				continue;
			}
			dependent.dependencies?.delete(run);
			if (dependent.dependencies?.size !== 0) continue;
			dependent.dependencies = undefined;
			this.#options.freed(dependent);
		}
	}
}

/** What stands for the command from now on. A repetition of a read ends like the first one, or has no answer. */
function pastOf({ request, repeats }: Run, outcome: Outcome, finishedAtMs: number): Past {
	const { command, fingerprint, row } = request;
	const isKept = fingerprint !== "" && row.effect === "read" && outcome.response.success;
	const digest = isKept && isLong(outcome) ? digestOf(outcome) : undefined;
	if (repeats === undefined) return { kind: "past", fingerprint, outcome, finishedAtMs, digest };
	if (digest === repeats.past.digest) return { ...repeats.past, outcome };
	return { kind: "past", fingerprint, outcome: failed(command.type, answerGone), finishedAtMs };
}
