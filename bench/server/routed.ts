import { createClient } from "../../src/protocol/client.ts";
import type { TestPostgres } from "../../test/support/postgres.ts";
import { type Line, median, quantile, rounded, sized } from "../support.ts";
import { fanOut } from "./fan-out.ts";
import { Load } from "./load.ts";
import { createFolder, type ServerProcess, startStrata } from "./processes.ts";
import { startStreamingProvider } from "./streaming-provider.ts";

const SESSIONS = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];
const rounds = sized(5, 1);
const roundMs = sized(1_000, 100);
const QUIET = '{"type":"subscribe","id":"greeting","lifecycle":"none"}';

/** The same questions and events at the server that has the sessions, and through a gateway. */
export async function measureRouting(postgres: TestPostgres): Promise<Line[]> {
	const words = ["--database", await postgres.database()];
	const provider = await startStreamingProvider(sized(3_000, 50));
	const folder = createFolder(provider.url);
	const owner = await startStrata(folder, { words });
	const gateway = await startStrata(createFolder(), { words: [...words, "--no-sessions"] });
	await createSessions(owner, folder);
	await linked(gateway, 1);
	const ports = { direct: owner.port, routed: gateway.port };
	const lines = [...(await compareReads(ports)), await compareEvents(ports)];
	await Promise.all([owner.stop(), gateway.stop()]);
	await provider.close();
	return lines;
}

async function compareReads(ports: { direct: number; routed: number }): Promise<Line[]> {
	const open = (port: number) =>
		Load.open({
			port,
			clients: 1,
			depth: 32,
			command: (number) =>
				`{"type":"get_state","id":"read-${number}","sessionId":"s${number % SESSIONS.length}"}`,
			greeting: QUIET,
		});
	const loads = { direct: await open(ports.direct), routed: await open(ports.routed) };
	const rates = { direct: [] as number[], routed: [] as number[] };
	const delays = { direct: [] as number[], routed: [] as number[] };
	for (let round = -1; round < rounds; round++) {
		for (const side of round % 2 === 0 ? SIDES : SIDES.toReversed()) {
			const rate = await loads[side].run(roundMs);
			const paced = await loads[side].pace(sized(200, 50), roundMs);
			if (round < 0) continue;
			rates[side].push(rate);
			delays[side].push(quantile(paced, 0.5));
		}
	}
	for (const side of SIDES) loads[side].close();
	return [
		{
			case: "get_state through a gateway, 32 in flight",
			unit: "× direct",
			value: median(rates.routed.map((rate, index) => rate / (rates.direct[index] ?? 1))),
			digits: 2,
			better: "higher",
			atLeast: 0.4,
			from: {
				rounds,
				"per second": rounded(median(rates.routed), 0),
				"direct per second": rounded(median(rates.direct), 0),
			},
		},
		{
			case: "get_state through a gateway, at the median later by",
			unit: "ms",
			value: median(delays.routed) - median(delays.direct),
			digits: 2,
			target: 2,
			from: { rounds, "direct ms": rounded(median(delays.direct)) },
		},
	];
}

async function compareEvents(ports: { direct: number; routed: number }): Promise<Line> {
	const rates = { direct: [] as number[], routed: [] as number[] };
	const subscribers = sized(100, 3);
	let events = 0;
	for (let round = 0; round < sized(4, 2); round++) {
		for (const side of round % 2 === 0 ? SIDES : SIDES.toReversed()) {
			const client = createClient({ url: `ws://127.0.0.1:${ports[side]}` });
			const sessionId = SESSIONS[round % SESSIONS.length] as string;
			const outcome = await fanOut({ client, port: ports[side] }, { sessionId, subscribers });
			client.close();
			if (round === 0) continue;
			rates[side].push(outcome.perSecond);
			events = outcome.events;
		}
	}
	return {
		case: "events through a gateway to 100 subscribers of one session",
		unit: "× direct",
		value: median(rates.routed) / median(rates.direct),
		digits: 2,
		better: "higher",
		atLeast: 0.7,
		from: {
			rounds: rates.direct.length,
			events,
			"deliveries per second": rounded(median(rates.routed), 0),
			"direct per second": rounded(median(rates.direct), 0),
		},
	};
}

/** 64 changes in flight over three servers, whichever has the session, and at one server on the same Postgres. */
export async function measureThreeServers(postgres: TestPostgres): Promise<Line> {
	const one = await startServers(postgres, 1);
	const three = await startServers(postgres, 3);
	const rates = { one: [] as number[], three: [] as number[] };
	for (let round = -1; round < rounds; round++) {
		for (const side of ["one", "three"] as const) {
			const { loads } = side === "one" ? one : three;
			const each = await Promise.all(loads.map((load) => load.run(roundMs)));
			if (round >= 0) rates[side].push(each.reduce((sum, rate) => sum + rate, 0));
		}
	}
	await Promise.all([one.stop(), three.stop()]);
	return {
		case: "durable changes over three servers, 64 in flight",
		unit: "× one server",
		value: median(rates.three.map((rate, index) => rate / (rates.one[index] ?? 1))),
		digits: 2,
		better: "higher",
		atLeast: 0.45,
		from: {
			rounds,
			"per second": rounded(median(rates.three), 0),
			"one server per second": rounded(median(rates.one), 0),
		},
	};
}

async function startServers(postgres: TestPostgres, count: number) {
	const words = ["--database", await postgres.database()];
	const servers: ServerProcess[] = [];
	const folder = createFolder();
	for (let index = 0; index < count; index++) {
		servers.push(await startStrata(index === 0 ? folder : createFolder(), { words }));
	}
	const [first] = servers;
	if (first) await linked(first, count - 1);
	if (first) await createSessions(first, folder);
	const loads: Load[] = [];
	for (const [index, { port }] of servers.entries()) {
		const load = await Load.open({
			port,
			clients: 1,
			depth: Math.floor(64 / count) + (index < 64 % count ? 1 : 0),
			command: (number) =>
				`{"type":"set_session_name","id":"n-${number}","sessionId":"s${number % SESSIONS.length}","name":"n ${number}"}`,
			greeting: QUIET.replace("greeting", `greeting-${index}`),
		});
		loads.push(load);
	}
	return {
		loads,
		async stop() {
			for (const load of loads) load.close();
			await Promise.all(servers.map((server) => server.stop()));
		},
	};
}

async function createSessions(server: ServerProcess, cwd: string): Promise<void> {
	const client = createClient({ url: `ws://127.0.0.1:${server.port}` });
	for (const sessionId of SESSIONS) await client.request("create_session", { sessionId, cwd });
	client.close();
}

/** Waits until the server has this many links. */
async function linked(server: ServerProcess, count: number): Promise<void> {
	const client = createClient({ url: `ws://127.0.0.1:${server.port}` });
	for (;;) {
		const { servers = [] } = (await client.request("get_metrics")).data;
		if (servers.filter(({ isLinked }) => isLinked).length >= count) break;
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
	client.close();
}

const SIDES = ["direct", "routed"] as const;
