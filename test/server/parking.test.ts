import { describe, expect, test } from "vitest";
import { Parking } from "../../src/server/parking.ts";
import { atEnd } from "../support/temp.ts";

function session(sessionId: string) {
	return {
		principal: "ann",
		sessionId,
		record: { principal: "ann", id: sessionId, cwd: "/", createdAtMs: 1, settings: {} },
		current: {} as object | undefined,
		isIdle: true,
		usedMs: 0,
	};
}

type Session = ReturnType<typeof session>;

function start({ isShared = true, all = [session("a"), session("b")] } = {}) {
	const calls: string[] = [];
	const state = { now: 0, wanted: new Set<string>(), onRest: (_: Session) => {}, refuses: false };
	const parking = new Parking<Session>({
		parkMs: 1_000_000,
		idle: () => all.filter(({ isIdle }) => isIdle),
		isWanted: ({ sessionId }) => state.wanted.has(sessionId),
		async rest(one) {
			calls.push(`rest ${one.sessionId}`);
			one.current = undefined;
			state.onRest(one);
		},
		...(isShared && {
			giveUp: {
				async save({ id }) {
					if (state.refuses) throw new Error("the database is away");
					calls.push(`save ${id}`);
				},
				drop: ({ sessionId }) => void calls.push(`drop ${sessionId}`),
			},
		}),
		clock: () => state.now,
	});
	atEnd(() => parking.close());
	return { parking, calls, state, all };
}

describe("an idle session", () => {
	test("is closed after its time, saved, then given up", async () => {
		const { parking, calls, state, all } = start();
		state.now = 999_999;
		await parking.look();
		expect(calls).toEqual([]);
		state.now = 1_000_000;
		(all[1] as Session).usedMs = 1;
		await parking.look();
		expect(calls).toEqual(["rest a", "save a", "drop a"]);
		expect(parking.parked).toBe(1);
	});

	test("stays while a client subscribes to it or a command runs, and its time begins after that", async () => {
		const { parking, calls, state } = start({ all: [session("a")] });
		state.wanted.add("a");
		state.now = 5_000_000;
		await parking.look();
		state.wanted.clear();
		await parking.look();
		expect(calls).toEqual([]);
		state.now = 6_000_000;
		await parking.look();
		expect(calls).toEqual(["rest a", "save a", "drop a"]);
	});

	test("that a command opens again while it is closed is not given up", async () => {
		const { parking, calls, state } = start({ all: [session("a")] });
		state.now = 1_000_000;
		state.onRest = (one) => {
			one.current = {};
		};
		await parking.look();
		expect(calls).toEqual(["rest a", "save a"]);
		expect(parking.parked).toBe(0);
	});

	test("is not given up while the journal refuses records, and is tried again", async () => {
		const { parking, calls, state } = start({ all: [session("a")] });
		state.now = 1_000_000;
		state.refuses = true;
		await parking.look();
		expect(calls).toEqual(["rest a"]);
		state.refuses = false;
		await parking.look();
		expect(calls).toEqual(["rest a", "save a", "drop a"]);
	});

	test("of a server that has all sessions is only closed, once", async () => {
		const { parking, calls, state } = start({ isShared: false, all: [session("a")] });
		state.now = 1_000_000;
		await parking.look();
		await parking.look();
		expect(calls).toEqual(["rest a"]);
		expect(parking.parked).toBe(1);
	});
});
