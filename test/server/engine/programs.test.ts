import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { laneOf, rowOf } from "../../../src/protocol/index.ts";
import type { Call, Done } from "../../../src/server/engine/call.ts";
import { createMemoryJournal } from "../../support/memory-journal.ts";
import { fc, runs } from "../../support/property.ts";
import {
	createHarness,
	type Frame,
	LIMITS,
	sessionRecord,
	settled,
	type TestClient,
} from "./harness.ts";

/** What a random command does is in fields of its own, which the protocol lets through. */
interface RandomCommand {
	type: string;
	sessionId?: string;
	id?: string;
	idempotencyKey?: string;
	dependsOn?: string[];
	ifSessionVersion?: number;
	takesMs: number;
	fails: boolean;
	[field: string]: unknown;
}

type Step =
	| { kind: "send"; client: number; command: RandomCommand }
	| { kind: "wait"; ms: number }
	| { kind: "commit" }
	| { kind: "drop"; client: number };

const SESSIONS = ["s", "t"];
const NEVER = 0;
const CLIENTS = 3;

const Id = fc.constantFrom("a", "b", "c", "d", "e", "f", "g", "h");

const RandomCommandArbitrary: fc.Arbitrary<RandomCommand> = fc
	.record(
		{
			kind: fc.constantFrom(
				{ type: "set_session_name", name: "x" },
				{ type: "set_session_name", name: "y" },
				{ type: "bash", command: "x" },
				{ type: "prompt", message: "x", waitFor: "settled" },
				{ type: "get_state" },
				{ type: "abort" },
				{ type: "list_sessions" },
			),
			sessionId: fc.constantFrom(...SESSIONS),
			takesMs: fc.constantFrom(1, 1, 1, 5, 400, 1_200, 1_800, 12_000, NEVER),
			fails: fc.constantFrom(false, false, false, true),
			id: Id,
			idempotencyKey: fc.constantFrom("k", "l", "m"),
			dependsOn: fc.array(Id, { maxLength: 3 }),
			ifSessionVersion: fc.nat(3),
		},
		{ requiredKeys: ["kind", "sessionId", "takesMs", "fails"] },
	)
	.map(({ kind, ...rest }) => {
		const { sessionId, ifSessionVersion, ...others } = rest;
		if (kind.type === "list_sessions") return { ...kind, ...others };
		// Few commands ask for a version, or most of them would fail.
		const asks = ifSessionVersion !== undefined && ifSessionVersion < 2 && others.takesMs === 1;
		return { ...kind, ...others, sessionId, ...(asks && { ifSessionVersion }) };
	});

const StepArbitrary: fc.Arbitrary<Step> = fc.oneof(
	{
		weight: 8,
		arbitrary: fc.record({
			kind: fc.constant("send" as const),
			client: fc.nat(CLIENTS - 1),
			command: RandomCommandArbitrary,
		}),
	},
	{
		weight: 3,
		arbitrary: fc.record({
			kind: fc.constant("wait" as const),
			ms: fc.constantFrom(1, 7, 500, 3_000),
		}),
	},
	{ weight: 4, arbitrary: fc.record({ kind: fc.constant("commit" as const) }) },
	{
		weight: 1,
		arbitrary: fc.record({ kind: fc.constant("drop" as const), client: fc.nat(CLIENTS - 1) }),
	},
);

describe("random programs", () => {
	beforeEach(() => {
		vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
	});
	afterEach(() => vi.useRealTimers());

	test.each(["at-once", "manual"] as const)(
		"keep every promise of the protocol, with a disk that commits %s",
		{ tags: "slow" },
		async (mode) => {
			await fc.assert(
				fc.asyncProperty(
					fc.array(StepArbitrary, { minLength: 10, maxLength: 50 }),
					async (steps) => {
						check(await play(steps, mode));
					},
				),
				{ numRuns: runs(150) },
			);
		},
	);
});

interface Played {
	frames: readonly Frame[];
	/** What each client sent, and got, until it was dropped or the end. */
	talks: { client: TestClient; sent: RandomCommand[]; dropped: boolean }[];
	/** Calls of handlers with the times at which they began and ended. */
	calls: { command: RandomCommand; beganMs: number; endedMs: number; succeeded: boolean }[];
	versions: (number | undefined)[];
	counters: ReturnType<ReturnType<typeof createHarness>["engine"]["counters"]>;
	timers: number;
}

async function play(steps: Step[], mode: "at-once" | "manual"): Promise<Played> {
	const journal = createMemoryJournal({
		mode,
		records: SESSIONS.map((id) => ({ kind: "session", session: sessionRecord("ann", id) })),
	});
	const harness = createHarness({ journal, memory: { names: 5, characters: 100_000 } });
	const calls: Played["calls"] = [];
	for (const type of [
		"set_session_name",
		"bash",
		"prompt",
		"get_state",
		"abort",
		"list_sessions",
	]) {
		harness.on(type, (call) => work(call, calls));
	}
	const observer = harness.client();
	const talks: Played["talks"] = [];
	const connect = () => ({ client: harness.client("ann", "own"), sent: [], dropped: false });
	const connected = Array.from({ length: CLIENTS }, connect) as Played["talks"];
	talks.push(...connected);
	for (const step of steps) {
		if (step.kind === "wait") await vi.advanceTimersByTimeAsync(step.ms);
		else if (step.kind === "commit") journal.commit();
		else {
			const talk = connected[step.client] as Played["talks"][0];
			if (step.kind === "send") {
				talk.sent.push(step.command);
				harness.engine.receive(talk.client, JSON.stringify(step.command));
			} else {
				harness.engine.disconnect(talk.client);
				talk.client.gone = true;
				talk.dropped = true;
				connected[step.client] = connect();
				talks.push(connected[step.client] as Played["talks"][0]);
			}
		}
		if (step.kind !== "send") await settled();
	}
	await runOut(harness, journal);
	return {
		frames: observer.frames,
		talks,
		calls,
		versions: SESSIONS.map((id) => harness.engine.version("ann", id)),
		counters: harness.engine.counters(),
		timers: vi.getTimerCount(),
	};
}

/** Stops the engine, with a disk that commits now and then, and waits for the late ends of handlers. */
async function runOut(
	harness: ReturnType<typeof createHarness>,
	journal: ReturnType<typeof createMemoryJournal>,
): Promise<void> {
	let over = false;
	const shutdown = harness.engine.shutdown("end", LIMITS.queueMs).then(() => {
		over = true;
	});
	for (let turn = 0; turn < 2_000 && !over; turn++) {
		await vi.advanceTimersByTimeAsync(200);
		journal.commit();
		await settled();
	}
	expect(over).toBe(true);
	await shutdown;
	await vi.advanceTimersByTimeAsync(20_000);
	journal.commit();
	await settled();
}

function work({ command }: Call, calls: Played["calls"]): Promise<Done> {
	const { takesMs, fails } = command as unknown as RandomCommand;
	const call = {
		command: command as unknown as RandomCommand,
		beganMs: performance.now(),
		endedMs: Infinity,
		succeeded: false,
	};
	calls.push(call);
	return new Promise((resolve, reject) => {
		if (takesMs === NEVER) return;
		setTimeout(() => {
			call.endedMs = performance.now();
			call.succeeded = !fails;
			if (fails) reject(new Error("as planned"));
			else resolve({ data: { at: call.endedMs } });
		}, takesMs);
	});
}

function check(played: Played): void {
	checkPhases(played.frames);
	checkDependencies(played.frames);
	checkLanes(played.frames);
	checkHandlers(played.calls);
	checkVersions(played);
	checkResponses(played);
	expect(played.counters).toMatchObject({ pending: 0, lanes: 0 });
	expect(played.timers).toBe(0);
}

/** Every accepted command finishes once; each id starts at most once, after an acceptance and before its first finish. */
function checkPhases(frames: readonly Frame[]): void {
	for (const [id, events] of byCommand(frames)) {
		const types = events.map(({ type }) => type);
		const count = (type: string) => types.filter((each) => each === type).length;
		expect([id, count("command_finished")]).toEqual([id, count("command_accepted")]);
		expect(count("command_started")).toBeLessThanOrEqual(1);
		const started = types.indexOf("command_started");
		if (started < 0) continue;
		expect(types.indexOf("command_accepted")).toBeLessThan(started);
		const own = events.findIndex(
			({ type, data }) => type === "command_finished" && !data?.replayed && !isRefusal(data),
		);
		expect(own).toBeGreaterThan(started);
		const repetitions = events.filter(({ data }) => data?.replayed);
		for (const repetition of repetitions) expect(events.indexOf(repetition)).toBeGreaterThan(own);
	}
}

/** A command that starts has seen all its dependencies finish well. */
function checkDependencies(frames: readonly Frame[]): void {
	const succeeded = new Set<unknown>();
	for (const { type, data } of frames) {
		if (type === "command_finished" && data?.success) succeeded.add(data.commandId);
		if (type !== "command_started") continue;
		const dependsOn = (data?.dependsOn ?? []) as string[];
		for (const id of dependsOn) expect(succeeded).toContain(id);
	}
}

/** In a lane one command at a time is between started and finished, in the order of acceptance. */
function checkLanes(frames: readonly Frame[]): void {
	const running = new Map<string, unknown>();
	const lastPlace = new Map<string, number>();
	frames.forEach(({ type, data }, index) => {
		const { commandType, commandId, sessionId } = (data ?? {}) as Record<string, string>;
		if (commandType === undefined || rowOf(commandType)?.path !== "lane") return;
		const lane = laneOf({ type: commandType, sessionId } as never);
		if (type === "command_finished" && running.get(lane) === commandId) {
			if (!data?.replayed && !isRefusal(data)) running.delete(lane);
		}
		if (type !== "command_started") return;
		expect(running.has(lane)).toBe(false);
		running.set(lane, commandId);
		const place = placeOf(frames, commandId, index);
		expect(place).toBeGreaterThan(lastPlace.get(lane) ?? -1);
		lastPlace.set(lane, place);
	});
}

/** Where the command that starts here was accepted: the first time that its id was not refused. */
function placeOf(frames: readonly Frame[], id: string | undefined, startedAt: number): number {
	const before = frames.slice(0, startedAt);
	const refusals = before.filter(
		({ type, data }) => type === "command_finished" && data?.commandId === id && isRefusal(data),
	);
	const accepted = before.flatMap(({ type, data }, index) =>
		type === "command_accepted" && data?.commandId === id ? [index] : [],
	);
	// A refusal directly follows its acceptance.
	const own = accepted.filter((index) => {
		const next = before[index + 1];
		return !(next && refusals.includes(next));
	});
	return own[0] as number;
}

/** Work of one lane does not overlap, unless a timeout and its grace have passed. */
function checkHandlers(calls: Played["calls"]): void {
	const last = new Map<string, Played["calls"][0]>();
	for (const call of calls) {
		const { type } = call.command;
		if (rowOf(type)?.path !== "lane") continue;
		const lane = laneOf(call.command as never);
		const before = last.get(lane);
		last.set(lane, call);
		if (before === undefined || call.beganMs >= before.endedMs) continue;
		const limit = before.command.type === "bash" ? LIMITS.longMs : LIMITS.shortMs;
		expect(before.command.type).not.toBe("prompt");
		expect(call.beganMs - before.beganMs).toBeGreaterThanOrEqual(limit + LIMITS.graceMs);
	}
}

/** Every change that was made raised the version by one, and no version was given twice. */
function checkVersions({ calls, frames, versions }: Played): void {
	SESSIONS.forEach((sessionId, index) => {
		const made = calls.filter(
			({ command, succeeded }) =>
				succeeded && command.sessionId === sessionId && rowOf(command.type)?.effect === "change",
		);
		expect(versions[index]).toBe(made.length);
		const told = frames.flatMap(({ type, data }) =>
			type === "command_finished" &&
			data?.sessionId === sessionId &&
			data.success &&
			!data.replayed &&
			rowOf(data.commandType as string)?.effect === "change"
				? [data.sessionVersion]
				: [],
		);
		expect(new Set(told).size).toBe(told.length);
	});
}

/** Everybody who stayed got one answer a command, and all answers to one intent are equal. */
function checkResponses({ talks }: Played): void {
	const outcomes = new Map<string, Frame>();
	for (const { client, sent, dropped } of talks) {
		const responses = client.frames.filter(({ type }) => type === "response");
		if (!dropped) expect(responses).toHaveLength(sent.length);
		const named = sent.filter(({ id }) => id !== undefined);
		for (const response of responses) {
			if (response.id === undefined || isRefusal(response)) continue;
			expect(named.some(({ id }) => id === response.id)).toBe(true);
			const { replayed: _, ...outcome } = response;
			const known = outcomes.get(response.id);
			if (known === undefined) outcomes.set(response.id, outcome);
			else expect(outcome).toEqual(known);
		}
	}
}

function byCommand(frames: readonly Frame[]): Map<string, Frame[]> {
	const commands = new Map<string, Frame[]>();
	for (const frame of frames) {
		const id = frame.data?.commandId;
		if (id !== undefined) commands.set(id, [...(commands.get(id) ?? []), frame]);
	}
	return commands;
}

/** An answer that is not the outcome of its id. */
function isRefusal(answer: { [field: string]: unknown } | undefined): boolean {
	return ["id_conflict", "key_conflict", "busy", "rate_limited", "shutting_down"].includes(
		answer?.code as string,
	);
}
