import { expect, test } from "vitest";
import { demandFrom, project, RETENTION_DAYS } from "../../bench/server/projection.ts";

const COSTS = {
	baseBytes: 200e6,
	openSessionBytes: 250e3,
	openingMs: 10,
	connectionsPerServer: 4,
	sessionBytes: 1_000,
	rows: { events: 60, commands: 1, entries: 2 },
	rowBytes: { events: 1_200, commands: 500, entries: 2_000 },
};
const DEMAND = { sessions: 1_000, active: 0.1, promptsPerDay: 10, servers: 2 };

test("rows, connections and memory follow from sessions, prompts and servers", () => {
	const projection = project(DEMAND, COSTS);
	expect(projection.rowsPerDay).toBe(630_000);
	expect(projection.rowsPerSecond).toBeCloseTo(7.29, 2);
	expect(projection.connections).toBe(8);
	expect(projection.bytesPerServer).toBe(200e6 + 50 * 250e3);
	expect(projection.growthBytesPerDay).toBe(10_000 * 2 * 2_000);
	const passing = 10_000 * (60 * 1_200 + 500);
	expect(projection.databaseBytes).toBe(1e6 + 40e6 + RETENTION_DAYS * passing);
});

test("a given number of events takes the place of the measured one", () => {
	expect(project({ ...DEMAND, eventsPerPrompt: 7 }, COSTS).rowsPerDay).toBe(100_000);
});

test("parked sessions cost no server memory", () => {
	const parked = project({ ...DEMAND, active: 0 }, COSTS);
	expect(parked.bytesPerServer).toBe(COSTS.baseBytes);
});

test("words change the demand; unknown and impossible ones are refused", () => {
	expect(demandFrom("sessions=5, active=0.5 servers=3", DEMAND)).toEqual({
		...DEMAND,
		sessions: 5,
		active: 0.5,
		servers: 3,
	});
	expect(() => demandFrom("session=5", DEMAND)).toThrow('unknown "session"');
	expect(() => demandFrom("active=2", DEMAND)).toThrow("active cannot be");
	expect(() => demandFrom("servers=0", DEMAND)).toThrow("servers cannot be");
	expect(() => demandFrom("sessions=", DEMAND)).toThrow("sessions cannot be");
});
