import { expect, test, vi } from "vitest";
import { startSessions, type TestSessions } from "../server/sessions/start-sessions.ts";
import { writeLongSession } from "../support/long-session.ts";
import { sdk } from "../support/pi-sdk.ts";

/** Changes after which pi does not have to build its context again. */
const changes: ((server: TestSessions, round: number) => Promise<unknown>)[] = [
	(server, round) => server.run("set_session_name", { name: `name ${round}` }),
	(server, round) => server.run("set_auto_retry", { enabled: round % 2 === 0 }),
	(server, round) => server.run("set_auto_compaction", { enabled: round % 2 === 0 }),
	(server, round) => server.run("set_steering_mode", { mode: round % 2 ? "all" : "one-at-a-time" }),
	(server, round) => server.run("set_thinking_level", { level: round % 2 ? "high" : "low" }),
	(server, round) =>
		server.run("set_model", { provider: "faux", modelId: `faux-${1 + (round % 2)}` }),
	(server, round) => server.run("set_tools", { tools: round % 2 ? ["read"] : ["read", "bash"] }),
	(server) => server.run("clear_queue", {}),
	(server) => server.run("abort", {}),
];

test("a change looks at no more entries in a long session than in a short one", {
	tags: "slow",
}, async () => {
	const [short, long] = [await visitsPerChange(30), await visitsPerChange(3_000)];
	expect(long).toEqual(short);
});

/** How many entries each of the changes looks at in a session of that length, once it is open. */
async function visitsPerChange(entries: number): Promise<number[]> {
	const server = await startSessions();
	const open = vi.spyOn(sdk.SessionManager, "open");
	await server.run("load_session", { sessionPath: writeLongSession(server, entries) });
	const visits = countVisits(open.mock.results.at(-1)?.value);
	open.mockRestore();
	const counts: number[] = [];
	for (const change of changes) {
		await change(server, 1);
		const before = visits();
		for (let round = 2; round < 6; round++) await change(server, round);
		counts.push(visits() - before);
	}
	return counts;
}

/** Where pi keeps the entries of a session. */
interface Entries {
	fileEntries: unknown[];
	byId: Map<string, unknown>;
}

/** Counts from now on how often an entry is taken out of them, one at a time or all at once. */
function countVisits(manager: Entries): () => number {
	let visits = 0;
	manager.fileEntries = new Proxy(manager.fileEntries, {
		get(entries, key) {
			if (typeof key === "string" && /^\d+$/.test(key)) visits++;
			return Reflect.get(entries, key);
		},
	});
	const { byId } = manager;
	const get = byId.get.bind(byId);
	byId.get = (id) => {
		visits++;
		return get(id);
	};
	const values = byId.values.bind(byId);
	byId.values = () => {
		visits += byId.size;
		return values();
	};
	return () => visits;
}
