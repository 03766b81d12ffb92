import type { Run } from "./run.ts";

/**
 * The commands of one session, or of the server, in the order in which they came. One at a time has the turn; a command
 * stays in the line until its outcome has been told, which may be after the next has begun.
 */
export class Lane {
	readonly #giveTurn: (run: Run) => void;
	readonly #emptied: () => void;
	/** The line. */
	#first: Run | undefined;
	#last: Run | undefined;
	/** Who has the turn, and the first in line who has not had it. */
	#holder: Run | undefined;
	#upcoming: Run | undefined;
	#givingTurns = false;
	#ended = false;
	/** The first in line that is too slow for the control path to wait for. */
	#firstSlow: Run | undefined;
	/** The last place given away, and the last of those that are decided without a gap. */
	#lastPlace = 0;
	#decidedPlace = 0;
	/** Commands of the control path that wait for a place to be decided, nearest first. */
	#firstControl: Run | undefined;
	#lastControl: Run | undefined;

	/** `giveTurn` tells a command that it is its turn; `emptied` says that nobody is left and the lane is not used again. */
	constructor(options: { giveTurn: (run: Run) => void; emptied: () => void }) {
		this.#giveTurn = options.giveTurn;
		this.#emptied = options.emptied;
	}

	/** A command gets in line; its turn may come at once. */
	join(run: Run): void {
		run.lane = this;
		run.place = ++this.#lastPlace;
		run.before = this.#last;
		if (this.#last === undefined) this.#first = run;
		else this.#last.after = run;
		this.#last = run;
		this.#upcoming ??= run;
		if (run.slow) this.#firstSlow ??= run;
		this.#advance();
	}

	/**
	 * A command of the control path gets its turn when the short commands before it are decided, except those behind a
	 * slow one: a run must be open to `abort` however much queues behind it.
	 */
	joinControl(run: Run): void {
		run.place = this.#firstSlow === undefined ? this.#lastPlace : this.#firstSlow.place - 1;
		if (run.place <= this.#decidedPlace) {
			this.#giveTurn(run);
			return;
		}
		// Places to wait for never decrease: they grow with the line, or when the slow one at its head is decided.
		if (this.#lastControl === undefined) this.#firstControl = run;
		else this.#lastControl.after = run;
		this.#lastControl = run;
	}

	/** Whether a command waits behind a slow one. */
	isBehindSlow(run: Run): boolean {
		return this.#firstSlow !== undefined && this.#firstSlow.place < run.place;
	}

	/** The command's outcome stands. Its turn is over, unless its handler is still at work. */
	decided(run: Run): void {
		if (this.#firstSlow === run) this.#firstSlow = nextSlow(run.after);
		if (this.#holder !== run) return;
		if (run.working) {
			this.#decidedPlace = run.place;
			this.#letControlsGo();
		} else this.release(run);
	}

	/** The command no longer needs the turn, if it had it. */
	release(run: Run): void {
		if (this.#holder !== run) return;
		this.#holder = undefined;
		this.#advance();
	}

	/** Whether all before it have been told. */
	isFirst(run: Run): boolean {
		return this.#first === run;
	}

	/** The command's outcome has been told. Returns who is first in line now, if that changed. */
	leave(run: Run): Run | undefined {
		if (this.#upcoming === run) this.#upcoming = run.after;
		if (run.after === undefined) this.#last = run.before;
		else run.after.before = run.before;
		if (run.before !== undefined) {
			run.before.after = run.after;
			return undefined;
		}
		this.#first = run.after;
		this.#endIfEmpty();
		return this.#first;
	}

	/** A loop, not a recursion, since a thousand commands in line may fail on the spot. */
	#advance(): void {
		if (this.#givingTurns) return;
		this.#givingTurns = true;
		while (this.#holder === undefined && this.#upcoming !== undefined) {
			const run = this.#upcoming;
			this.#upcoming = run.after;
			if (run.phase !== "waiting") continue;
			this.#holder = run;
			this.#decidedPlace = run.place - 1;
			this.#letControlsGo();
			this.#giveTurn(run);
		}
		this.#givingTurns = false;
		if (this.#holder === undefined) {
			this.#decidedPlace = this.#lastPlace;
			this.#letControlsGo();
			this.#endIfEmpty();
		}
	}

	/** Controls are no reason to stay: without anybody in line they wait for nothing. */
	#endIfEmpty(): void {
		if (this.#first !== undefined || this.#holder !== undefined || this.#ended) return;
		this.#ended = true;
		this.#emptied();
	}

	#letControlsGo(): void {
		while (this.#firstControl !== undefined && this.#firstControl.place <= this.#decidedPlace) {
			const run = this.#firstControl;
			this.#firstControl = run.after;
			if (this.#firstControl === undefined) this.#lastControl = undefined;
			run.after = undefined;
			if (run.phase === "waiting") this.#giveTurn(run);
		}
	}
}

/** Each command is passed once in its life, so this is cheap on average. */
function nextSlow(from: Run | undefined): Run | undefined {
	let run = from;
	while (run !== undefined && !(run.slow && run.phase !== "decided")) run = run.after;
	return run;
}
