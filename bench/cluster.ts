/**
 * The server with its journal in PostgreSQL, compared with the embedded journal in the same run, in turns. The database
 * runs with `fsync`, on the same machine and disk. Rates depend on the machine; ratios and processor time mean more.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "../src/protocol/client.ts";
import { writeLongSession } from "../test/support/long-session.ts";
import { postgresPrograms, startPostgres, type TestPostgres } from "../test/support/postgres.ts";
import { Load } from "./server/load.ts";
import { createFolder, processorMs, type ServerProcess, startStrata } from "./server/processes.ts";
import { measureRouting, measureThreeServers } from "./server/routed.ts";
import { type Line, median, missing, report, rounded, sized } from "./support.ts";

const rounds = sized(5, 1);
const roundMs = sized(1_000, 100);
const takeovers = sized(5, 1);
const SESSIONS = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];
/** New sessions are spread over the servers, so that the next one gets some of them. */
const WARMING = 4;
const LEASE_MS = sized(3_000, 1_000);
const lines: Line[] = [];

if (postgresPrograms === undefined) {
	missing("all cases", "PostgreSQL is not installed");
	report([{ case: "skipped: PostgreSQL is not installed", unit: "", value: 0 }]);
} else {
	const postgres = await startPostgres({ fsync: true });
	try {
		await compareRates(postgres);
		lines.push(...(await measureRouting(postgres)), await measureThreeServers(postgres));
		await measureTakeovers(postgres);
	} finally {
		await postgres.stop();
	}
	report(lines);
}

async function compareRates(postgres: TestPostgres): Promise<void> {
	const words = ["--database", await postgres.database()];
	const servers = {
		embedded: await startWithSessions([]),
		shared: await startWithSessions(words),
	};
	const sides = ["embedded", "shared"] as const;
	for (const { depth, atLeast } of [
		{ depth: 1, atLeast: undefined },
		{ depth: 8, atLeast: 0.25 },
		{ depth: 64, atLeast: 0.5 },
	]) {
		const rates = { embedded: [] as number[], shared: [] as number[] };
		const costs = { embedded: [] as number[], shared: [] as number[] };
		const loads = {
			embedded: await loadOf(servers.embedded, depth),
			shared: await loadOf(servers.shared, depth),
		};
		for (let round = -1; round < rounds; round++) {
			for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
				const before = processorMs(servers[side].pid);
				const rate = await loads[side].run(roundMs);
				const used = processorMs(servers[side].pid) - before;
				if (round < 0) continue;
				rates[side].push(rate);
				costs[side].push((used * 1_000) / ((rate * roundMs) / 1_000));
			}
		}
		for (const side of sides) loads[side].close();
		const ratio = median(rates.shared.map((rate, index) => rate / (rates.embedded[index] ?? 1)));
		lines.push({
			case: `durable changes in PostgreSQL, ${depth} in flight over 8 sessions`,
			unit: "× embedded",
			value: ratio,
			digits: 2,
			better: "higher",
			...(atLeast !== undefined && { atLeast }),
			from: {
				rounds,
				"per second": rounded(median(rates.shared), 0),
				"embedded per second": rounded(median(rates.embedded), 0),
			},
		});
		if (depth !== 64) continue;
		lines.push({
			case: "processor time of the server per change, 64 in flight",
			unit: "× embedded",
			value: median(costs.shared) / median(costs.embedded),
			digits: 2,
			target: 1,
			from: {
				"µs in PostgreSQL": rounded(median(costs.shared), 0),
				"µs embedded": rounded(median(costs.embedded), 0),
			},
		});
	}
	await Promise.all(sides.map((side) => servers[side].stop()));
}

async function startWithSessions(words: string[]): Promise<ServerProcess> {
	const folder = createFolder();
	const server = await startStrata(folder, { words });
	const client = createClient({ url: `ws://127.0.0.1:${server.port}` });
	for (const sessionId of SESSIONS)
		await client.request("create_session", { sessionId, cwd: folder });
	client.close();
	return server;
}

function loadOf(server: ServerProcess, depth: number): Promise<Load> {
	return Load.open({
		port: server.port,
		clients: 1,
		depth,
		command: (number) =>
			`{"type":"set_session_name","id":"n-${number}","sessionId":"s${number % SESSIONS.length}","name":"n ${number}"}`,
		greeting: '{"type":"subscribe","id":"greeting","lifecycle":"none"}',
	});
}

/** From the end of an owner to the first answer of the next, with a conversation of 3 MB. */
async function measureTakeovers(postgres: TestPostgres): Promise<void> {
	const words = ["--database", await postgres.database(), "--lease", String(LEASE_MS / 1_000)];
	const workspace = createFolder();
	const file = writeLongSession(
		{ agentDir: join(workspace, "agent"), cwd: workspace },
		sized(11_000, 60),
	);
	const times = { SIGKILL: [] as number[], SIGTERM: [] as number[] };
	let owner = await startStrata(workspace, { words });
	await request(owner, { type: "load_session", sessionId: "long", sessionPath: file });
	await request(owner, { type: "set_session_name", sessionId: "long", name: "of the first" });
	for (const signal of ["SIGKILL", "SIGTERM"] as const) {
		for (let round = 0; round < takeovers; round++) {
			const next = await startStrata(createFolder(), { words });
			// As a server in use: the first session of a process loads pi's code.
			for (let count = 0; count < WARMING; count++) {
				await request(next, { type: "create_session", cwd: workspace });
			}
			await sleep(LEASE_MS); // who has just come buries no other
			const ended = signal === "SIGKILL" ? owner.kill() : owner.stop();
			await ended;
			const begun = performance.now();
			await request(next, { type: "get_state", sessionId: "long" });
			times[signal].push(performance.now() - begun);
			owner = next;
		}
	}
	await owner.stop();
	lines.push(
		{
			case: "from the death of an owner to the first answer of the next, beyond the lease",
			unit: "ms",
			value: median(times.SIGKILL) - LEASE_MS,
			digits: 0,
			target: 1_000,
			from: { "lease ms": LEASE_MS, rounds: takeovers },
		},
		{
			case: "from the end of an owner after SIGTERM to the first answer of the next: a conversation of 3 MB claimed, written and opened",
			unit: "ms",
			value: median(times.SIGTERM),
			digits: 0,
			target: 500,
			from: { rounds: takeovers, bytes: statSync(file).size },
		},
	);
}

async function request(server: ServerProcess, command: { type: string; [field: string]: unknown }) {
	const client = createClient({ url: `ws://127.0.0.1:${server.port}` });
	const { type, ...fields } = command;
	try {
		await client.request(type as "load_session", fields as never);
	} finally {
		client.close();
	}
}
