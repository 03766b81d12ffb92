import { describe, expect, test } from "vitest";
import {
	type Phase,
	type PhaseName,
	type ReceivedCommand,
	Run,
	TRANSITIONS,
} from "../../../src/server/engine/run.ts";

const past = {
	kind: "past",
	fingerprint: "",
	outcome: { response: { type: "response", command: "bash", success: true }, json: "{}" },
	finishedAtMs: 0,
} as const;
const completed = { past, isKept: true, isKeyFree: false, isStartHeld: false, notice: undefined };

/** One phase of each name. */
const PHASES: { [Name in PhaseName]: Extract<Phase, { name: Name }> } = {
	accepted: { name: "accepted" },
	queued: { name: "queued", hasTurn: false, isRecorded: true, dependencies: undefined },
	running: { name: "running", isWorking: true, isStartHeld: false, deadline: undefined },
	finished: { name: "finished", ...completed },
	durable: { name: "durable", ...completed },
	sent: { name: "sent" },
};
const NAMES = Object.keys(PHASES) as PhaseName[];

/** A way to each phase. */
const PATHS: Record<PhaseName, PhaseName[]> = {
	accepted: [],
	queued: ["queued"],
	running: ["queued", "running"],
	finished: ["queued", "running", "finished"],
	durable: ["finished", "durable"],
	sent: ["finished", "durable", "sent"],
};

function runIn(name: PhaseName): Run {
	const run = new Run({} as ReceivedCommand, "short");
	for (const step of PATHS[name]) run.enter({ ...PHASES[step] });
	expect(run.phase.name).toBe(name);
	return run;
}

describe("the phases of a command", () => {
	test("follow each other as the documents say", () => {
		expect(TRANSITIONS).toEqual({
			accepted: ["queued", "finished"],
			queued: ["running", "finished"],
			running: ["finished"],
			finished: ["durable"],
			durable: ["sent"],
			sent: [],
		});
	});

	test.each(NAMES.flatMap((from) => NAMES.map((to) => ({ from, to }))))(
		"$from may become $to only if the table has it, and else nothing changes",
		({ from, to }) => {
			const run = runIn(from);
			const enter = () => run.enter({ ...PHASES[to] });
			if (TRANSITIONS[from].includes(to)) {
				enter();
				expect(run.phase.name).toBe(to);
			} else {
				expect(enter).toThrow(`a command that is ${from} cannot become ${to}`);
				expect(run.phase.name).toBe(from);
			}
		},
	);

	test.each(NAMES)("fields of another phase cannot be changed in phase %s", (name) => {
		const run = runIn(name);
		expect(run.note("queued", { hasTurn: true })).toBe(name === "queued");
		expect(run.note("running", { isWorking: false })).toBe(name === "running");
		expect(run.freeKey()).toBe(name === "finished" || name === "durable");
		expect(run.isWaiting).toBe(name === "accepted" || name === "queued");
		expect(run.in(name)).toBe(run.phase);
	});

	test("leaving a phase cancels its deadlines and its dependencies", () => {
		const cancelled: string[] = [];
		const deadline = (name: string) => ({ cancel: () => void cancelled.push(name) });
		const dependency = runIn("queued");
		const run = new Run({} as ReceivedCommand, "short");
		dependency.dependents = new Set([run]);
		run.enter({
			...PHASES.queued,
			dependencies: new Set([dependency]),
			turnDeadline: deadline("turn"),
			dependencyDeadline: deadline("dependency"),
		});
		run.enter({ ...PHASES.running, deadline: deadline("work") });
		expect(cancelled).toEqual(["turn", "dependency"]);
		expect(dependency.dependents.size).toBe(0);
		run.enter({ ...PHASES.finished });
		expect(cancelled).toEqual(["turn", "dependency", "work"]);
	});
});
