import { Deadlines } from "./deadlines.ts";
import type { EngineLimits } from "./engine.ts";
import type { Run } from "./run.ts";

/** What happens when a command's time is up. */
export interface Alarms {
	/** It waited too long for its turn or for what it depends on. */
	waitedTooLong(run: Run, forWhat: "turn" | "dependency"): void;
	/** Its handler took longer than this. */
	workedTooLong(run: Run, ms: number): void;
	/** Its handler did not end in the time it had after it was told to stop. */
	graceOver(run: Run): void;
}

/** The times a command may take, one list of deadlines for each. */
export class Clocks {
	readonly #turn: Deadlines<Run>;
	readonly #dependency: Deadlines<Run>;
	readonly #short: Deadlines<Run>;
	readonly #long: Deadlines<Run>;
	readonly #grace: Deadlines<Run>;

	/** `clock` gives milliseconds and never goes back. */
	constructor(limits: EngineLimits, clock: () => number, alarms: Alarms) {
		const { queueMs, dependencyMs, shortMs, longMs, graceMs } = limits;
		const start = (ms: number, alarm: (run: Run) => void) => new Deadlines(ms, clock, alarm);
		this.#turn = start(queueMs, (run) => alarms.waitedTooLong(run, "turn"));
		this.#dependency = start(dependencyMs, (run) => alarms.waitedTooLong(run, "dependency"));
		this.#short = start(shortMs, (run) => alarms.workedTooLong(run, shortMs));
		this.#long = start(longMs, (run) => alarms.workedTooLong(run, longMs));
		this.#grace = start(graceMs, (run) => alarms.graceOver(run));
	}

	waitsForTurn(run: Run): void {
		run.deadlines.turn = this.#turn.add(run);
	}

	waitsForDependency(run: Run): void {
		run.deadlines.dependency = this.#dependency.add(run);
	}

	hasDependencies(run: Run): void {
		const { dependency } = run.deadlines;
		if (dependency !== undefined) this.#dependency.remove(dependency);
	}

	/** From here on the command has the time of its class. */
	works(run: Run): void {
		this.waitsNoMore(run);
		if (run.timeout === "short") run.deadlines.work = this.#short.add(run);
		else if (run.timeout === "long") run.deadlines.work = this.#long.add(run);
	}

	waitsNoMore(run: Run): void {
		if (run.deadlines.turn !== undefined) this.#turn.remove(run.deadlines.turn);
		this.hasDependencies(run);
	}

	/** The handler has ended in time; what is left is not its to be quick about. */
	worked(run: Run): void {
		const { work } = run.deadlines;
		if (work !== undefined) (run.timeout === "short" ? this.#short : this.#long).remove(work);
	}

	/** The outcome stands. A handler that is still at work has a grace to end. */
	decided(run: Run): void {
		this.waitsNoMore(run);
		this.worked(run);
		if (run.working) run.deadlines.grace = this.#grace.add(run);
	}

	/** The handler of a command whose outcome stood before has ended. */
	ended(run: Run): void {
		if (run.deadlines.grace !== undefined) this.#grace.remove(run.deadlines.grace);
	}

	/** Leaves no timer behind, except for the grace of what was told to stop and has not. */
	close(): void {
		for (const deadlines of [this.#turn, this.#dependency, this.#short, this.#long]) {
			deadlines.close();
		}
	}
}
