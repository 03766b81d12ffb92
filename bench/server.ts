/**
 * What the server takes and how fast, as a process of its own and beside a plain `ws` server that echoes JSON. Run with
 * `npm run bench -- server`; writes `bench/results/server.json`. Whatever else the machine does weighs on both, so the
 * ratios mean more than the rates; the load average beside each figure tells how far to trust it.
 */
import { loadavg } from "node:os";
import { createClient } from "../src/protocol/client.ts";
import { startInspectedServer } from "../test/server/support/inspected-server.ts";
import { type Race, raceEcho } from "./server/against-echo.ts";
import { fanOut } from "./server/fan-out.ts";
import { createLoad } from "./server/load.ts";
import { createFolder, startEcho, startStrata } from "./server/processes.ts";
import { startStreamingProvider } from "./server/streaming-provider.ts";
import { type Line, median, printLines, rounded, saveLines } from "./support.ts";

const rounds = 7;
const sessions = 8;
const deltas = 3_000;
const lines: Line[] = [];

const provider = await startStreamingProvider(deltas);
const folder = createFolder(provider.url);
const echo = await startEcho();
const strata = await startStrata(folder);
const client = createClient({ url: `ws://127.0.0.1:${strata.port}` });
for (let index = 0; index < sessions; index++) {
	await client.request("create_session", { sessionId: `s${index}`, cwd: folder });
}

const getState = (number: number) =>
	`{"type":"get_state","id":"read-${number}","sessionId":"s${number % sessions}"}`;
const servers = { echo, strata };

for (const { name, lifecycle, atLeast } of [
	{ name: "of its own commands", lifecycle: "own", atLeast: 0.3 },
	{ name: "of none", lifecycle: "none", atLeast: undefined },
] as const) {
	const options = { clients: 1, depth: 32, lifecycle, command: getState, rounds };
	const race = await raceEcho({ ...servers, ...options });
	addRatio(`one client, 32 get_state under way, lifecycle ${name}`, race, atLeast);
	race.loads.echo.close();
	race.loads.strata.close();
}

for (const { name, lifecycle, atLeast } of [
	{ name: "of all commands", lifecycle: "all", atLeast: 0.15 },
	{ name: "of their own commands", lifecycle: "own", atLeast: undefined },
] as const) {
	const options = { clients: 50, depth: 1, lifecycle, command: getState, rounds };
	const race = await raceEcho({ ...servers, ...options });
	addRatio(`50 clients, one get_state each, lifecycle ${name}`, race, atLeast);
	const half = race.perSecond.strata / 2;
	const ours = await race.loads.strata.pace(half, 5_000);
	const echoed = await race.loads.echo.pace(half, 5_000);
	add({
		case: "the same at half of that load: 99 of 100 answers within",
		unit: "ms",
		value: within(ours, 0.99),
		target: 25,
		from: {
			"per second": rounded(half, 0),
			"median ms": within(ours, 0.5),
			"90 % ms": within(ours, 0.9),
			"echo's 99 % ms": within(echoed, 0.99),
		},
	});
	race.loads.echo.close();
	race.loads.strata.close();
}

{
	const load = await createLoad({
		port: strata.port,
		clients: 1,
		depth: 64,
		greeting: '{"type":"subscribe","lifecycle":"own"}',
		command: (number) =>
			`{"type":"set_auto_retry","id":"change-${number}","sessionId":"s${number % sessions}","enabled":${number % 2 === 0}}`,
	});
	await load.run(1_000);
	const before = (await client.request("get_metrics")).data.journal;
	const rates: number[] = [];
	for (let round = 0; round < rounds; round++) rates.push(await load.run(1_000));
	const after = (await client.request("get_metrics")).data.journal;
	load.close();
	const commits = after.commits - before.commits;
	add({
		case: "durable changes, 64 under way over 8 sessions",
		unit: "per second",
		value: rounded(median(rates), 0),
		atLeast: 5_000,
		from: {
			rounds,
			"ms per transaction": rounded((after.commitMsTotal - before.commitMsTotal) / commits, 2),
			"changes per transaction": rounded(rates.reduce((sum, rate) => sum + rate, 0) / commits),
		},
	});
}

{
	const outcomes = [];
	for (let round = 0; round < 4; round++) {
		const where = { sessionId: `s${round}`, subscribers: 100 };
		outcomes.push(await fanOut({ client, port: strata.port }, where));
	}
	const counted = outcomes.slice(1);
	add({
		case: "events to 100 subscribers of one session",
		unit: "deliveries per second",
		value: rounded(median(counted.map(({ perSecond }) => perSecond)), 0),
		atLeast: 100_000,
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
		value: rounded(median(starts), 0),
		target: 2_500,
		from: { rounds, "fastest ms": rounded(Math.min(...starts), 0) },
	});
	add({
		case: "the same with the journal of this benchmark",
		unit: "ms",
		value: rounded(median(again), 0),
		target: 2_500,
		from: { rounds, "fastest ms": rounded(Math.min(...again), 0) },
	});
}

{
	const count = 60;
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
		value: rounded((second - first) / (count / 2) / 1024, 0),
		target: 150,
		from: { sessions: count },
	});
	// It would wait for the inspector to leave.
	server.process.child.kill("SIGKILL");
	await server.process.exited;
}

provider.close();
printLines(lines);
saveLines("server", lines);
process.exit();

function addRatio(name: string, race: Race, atLeast: number | undefined): void {
	const { perSecond, processorUs, ratio } = race;
	add({
		case: name,
		unit: "× echo",
		value: rounded(ratio, 2),
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

/** How long the given share of answers took at most, in milliseconds. */
function within(delays: readonly number[], share: number): number {
	const sorted = delays.toSorted((a, b) => a - b);
	return rounded(sorted[Math.floor(sorted.length * share)] ?? Number.NaN);
}

function add(line: Line): void {
	const load = rounded(loadavg()[0] ?? 0);
	lines.push({ ...line, from: { ...line.from, "load average": load } });
	console.log(line.case, line.value, line.unit, JSON.stringify(line.from), `load ${load}`);
}
