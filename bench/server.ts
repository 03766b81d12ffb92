/**
 * Throughput and latency of the server in a process of its own, compared with a plain `ws` server that echoes JSON. Other
 * load on the machine affects both, so the ratios mean more than the rates.
 */
import { createClient } from "../src/protocol/client.ts";
import { startInspectedServer } from "../test/server/support/inspected-server.ts";
import { writeLongSession } from "../test/support/long-session.ts";
import { type Race, raceEcho } from "./server/against-echo.ts";
import { FLOOD_SIZE, fairReads } from "./server/fair-reads.ts";
import { fanOut } from "./server/fan-out.ts";
import { Load } from "./server/load.ts";
import { createFolder, startEcho, startStrata } from "./server/processes.ts";
import { startStreamingProvider } from "./server/streaming-provider.ts";
import { type Line, median, quantile, report, rounded, sized } from "./support.ts";

const rounds = sized(7, 1);
const SESSIONS = 8;
const manyClients = sized(50, 3);
const deltas = sized(3_000, 50);
const roundMs = sized(1_000, 50);
const lines: Line[] = [];

const provider = await startStreamingProvider(deltas);
const folder = createFolder(provider.url);
const echo = await startEcho();
const strata = await startStrata(folder);
const client = createClient({ url: `ws://127.0.0.1:${strata.port}` });
for (let index = 0; index < SESSIONS; index++) {
	await client.request("create_session", { sessionId: `s${index}`, cwd: folder });
}

/** The echo server's rate for one client with 32 messages in flight. */
let echoPerSecond = Number.NaN;
const getState = (number: number) =>
	`{"type":"get_state","id":"read-${number}","sessionId":"s${number % SESSIONS}"}`;
const servers = { echo, strata };

const one = { who: "one client", clients: 1, depth: 32, each: "32 get_state in flight" };
const many = { who: "50 clients", clients: manyClients, depth: 1, each: "one get_state each" };
for (const { who, clients, depth, each, name, lifecycle, atLeast } of [
	{ ...one, name: "of its own commands", lifecycle: "own", atLeast: 0.4 },
	{ ...one, name: "of none", lifecycle: "none", atLeast: 0.4 },
	{ ...many, name: "of all commands", lifecycle: "all", atLeast: 0.2 },
	{ ...many, name: "of their own commands", lifecycle: "own", atLeast: undefined },
] as const) {
	const options = { clients, depth, lifecycle, command: getState, rounds, roundMs };
	const race = await raceEcho({ ...servers, ...options });
	addRatio(`${who}, ${each}, lifecycle ${name}`, race, atLeast);
	if (clients === 1) echoPerSecond = race.perSecond.echo;
	const half = race.perSecond.strata / 2;
	const ours = await race.loads.strata.pace(half, 5 * roundMs);
	const echoed = await race.loads.echo.pace(half, 5 * roundMs);
	add({
		case: `${who} at half of that load, lifecycle ${name}: 99 of 100 answers within`,
		unit: "ms",
		value: quantile(ours, 0.99),
		target: 25,
		baseline: { name: "echo", value: quantile(echoed, 0.99) },
		from: {
			"per second": rounded(half, 0),
			"median ms": rounded(quantile(ours, 0.5)),
			"90 % ms": rounded(quantile(ours, 0.9)),
		},
	});
	race.loads.echo.close();
	race.loads.strata.close();
}

{
	const load = await loadOfChanges(["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"]);
	await load.run(roundMs);
	const before = (await client.request("get_metrics")).data.journal;
	const rates: number[] = [];
	for (let round = 0; round < rounds; round++) rates.push(await load.run(roundMs));
	const after = (await client.request("get_metrics")).data.journal;
	load.close();
	const commits = after.commits - before.commits;
	add({
		case: "durable changes, 64 in flight over 8 sessions",
		unit: "per second",
		value: median(rates),
		digits: 0,
		atLeast: 5_000,
		baseline: { name: "echo to one client", value: echoPerSecond },
		from: {
			rounds,
			"ms per transaction": rounded((after.commitMsTotal - before.commitMsTotal) / commits, 2),
			"changes per transaction": rounded(
				(rates.reduce((sum, rate) => sum + rate, 0) * roundMs) / 1000 / commits,
			),
		},
	});
}

{
	const entries = sized(20_000, 200);
	const place = { agentDir: `${folder}/agent`, cwd: folder };
	const sessionPath = writeLongSession(place, entries);
	await client.request("load_session", { sessionId: "long", sessionPath });
	const loads = { fresh: await loadOfChanges(["s0"]), long: await loadOfChanges(["long"]) };
	const rates = { fresh: [] as number[], long: [] as number[] };
	for (let round = -1; round < rounds; round++) {
		const sides = ["fresh", "long"] as const;
		for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
			const rate = await loads[side].run(roundMs);
			if (round >= 0) rates[side].push(rate);
		}
	}
	loads.fresh.close();
	loads.long.close();
	add({
		case: "durable changes in a session of 20,000 entries, 64 in flight",
		unit: "per second",
		value: median(rates.long),
		digits: 0,
		atLeast: 5_000,
		baseline: { name: "in a fresh session", value: median(rates.fresh) },
		from: { rounds, entries },
	});
}

{
	const outcomes = [];
	for (let round = 0; round < sized(4, 2); round++) {
		const where = { sessionId: `s${round}`, subscribers: sized(100, 3) };
		outcomes.push(await fanOut({ client, port: strata.port }, where));
	}
	const counted = outcomes.slice(1);
	add({
		case: "events to 100 subscribers of one session",
		unit: "deliveries per second",
		value: median(counted.map(({ perSecond }) => perSecond)),
		digits: 0,
		atLeast: 100_000,
		baseline: { name: "echo to one client", value: echoPerSecond },
		from: {
			rounds: counted.length,
			events: counted[0]?.events ?? 0,
			deliveries: counted[0]?.deliveries ?? 0,
		},
	});
}
client.close();
await strata.stop();
await echo.stop();

for (const command of ["get_messages", "get_tree"] as const) {
	const { delays, ...flood } = await fairReads({ ...FLOOD_SIZE, command });
	const from = {
		reads: delays.length,
		"flood's answers per second": rounded(flood.answersPerSecond, 0),
		"flood's MB per second": rounded(flood.megabytesPerSecond, 0),
		"connections closed": flood.cutOff,
		"longest ms": rounded(Math.max(...delays)),
	};
	const name = `39 × 128 ${command} in flight: another's read`;
	const value = (share: number) => quantile(delays, share);
	add({ case: `${name}, median`, unit: "ms", value: value(0.5), target: 50, from });
	add({ case: `${name}, 99 of 100 within`, unit: "ms", value: value(0.99), target: 250, from });
}

{
	const starts: number[] = [];
	const again: number[] = [];
	for (let round = 0; round < rounds; round++) {
		const fresh = await startStrata(createFolder());
		starts.push(fresh.readyMs);
		await fresh.stop();
		const used = await startStrata(folder);
		again.push(used.readyMs);
		await used.stop();
	}
	add({
		case: "from the start of the process to ready",
		unit: "ms",
		value: median(starts),
		digits: 0,
		target: 2_500,
		baseline: { name: "echo", value: echo.readyMs },
		from: { rounds, "fastest ms": rounded(Math.min(...starts), 0) },
	});
	add({
		case: "the same with the journal of this benchmark",
		unit: "ms",
		value: median(again),
		digits: 0,
		target: 2_500,
		baseline: { name: "echo", value: echo.readyMs },
		from: { rounds, "fastest ms": rounded(Math.min(...again), 0) },
	});
}

{
	const count = sized(60, 4);
	const idle = createFolder();
	const server = await startInspectedServer([], { agentDir: `${idle}/agent` });
	const user = createClient({ url: server.url });
	const create = async (name: string) => {
		for (let index = 0; index < count / 2; index++) {
			await user.request("create_session", { sessionId: `${name}${index}`, cwd: idle });
		}
		return (await server.holdings()).heapBytes;
	};
	const first = await create("warm");
	const second = await create("more");
	user.close();
	add({
		case: "heap of an idle session",
		unit: "KB",
		value: (second - first) / (count / 2) / 1024,
		digits: 0,
		target: 150,
		from: { sessions: count },
	});
	// It would wait for the inspector to leave.
	server.process.child.kill("SIGKILL");
	await server.process.exited;
}

provider.close();
report(lines);

/** One client that keeps 64 changes in flight, over these sessions in turn. */
function loadOfChanges(sessionIds: readonly string[]): Promise<Load> {
	return Load.open({
		port: strata.port,
		clients: 1,
		depth: 64,
		greeting: '{"type":"subscribe","lifecycle":"own"}',
		command(number) {
			const sessionId = sessionIds[number % sessionIds.length];
			return `{"type":"set_auto_retry","id":"change-${number}","sessionId":"${sessionId}","enabled":${number % 2 === 0}}`;
		},
	});
}

function addRatio(name: string, race: Race, atLeast: number | undefined): void {
	const { perSecond, processorUs, ratio } = race;
	add({
		case: name,
		unit: "× echo",
		value: ratio,
		digits: 2,
		better: "higher",
		...(atLeast !== undefined && { atLeast }),
		from: {
			"per second": rounded(perSecond.strata, 0),
			"echo per second": rounded(perSecond.echo, 0),
			"processor µs": rounded(processorUs.strata),
			"echo's processor µs": rounded(processorUs.echo),
			rounds,
		},
	});
}

/** The benchmark takes minutes: each figure is printed when it is known. */
function add(line: Line): void {
	lines.push(line);
	console.log(line.case, rounded(line.value, line.digits), line.unit);
}
