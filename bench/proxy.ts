/**
 * What the proxy adds to a request, compared with the same request sent directly, in turn and in one run. Provider and
 * proxy are processes of their own; the client is this one.
 */
import { once } from "node:events";
import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { WebSocket } from "ws";
import { GrowingTalk } from "./proxy/growing-talk.ts";
import {
	type Served,
	type ServedProxy,
	startBenchProxy,
	startProvider,
} from "./proxy/processes.ts";
import { type Line, median, quantile, report, rounded, sized, tempFolder } from "./support.ts";

const MIB = 1024 * 1024;
const STREAMS = 10;
const LARGE_BYTES = sized(32, 1) * 1_000_000;
const provider = await startProvider();
const proxy = await startBenchProxy(provider.url, 64 * MIB);
const agents = Array.from({ length: 3 }, () => new Agent({ keepAlive: true }));
const [direct, through] = [
	{ ...provider, agent: agents[0] },
	{ ...proxy, agent: agents[1] },
];
type Side = Pick<Served, "url"> & { readonly agent: Agent | undefined };
const lines: Line[] = [];

for (const [name, bytes, target] of [
	["50 kB", 50_000, 0.5],
	["500 kB", 500_000, 1],
] as const) {
	const body = Buffer.alloc(bytes, "x");
	const times = await inTurn(sized(500, 5), sized(100, 1), async (side) => {
		const start = performance.now();
		const answer = await post(side, "/plain", body);
		const ms = performance.now() - start;
		await drained(answer);
		return ms;
	});
	const [before, after] = times.map((all) => quantile(all, 0.1)) as [number, number];
	lines.push({
		case: `time to headers, request of ${name}: added at the fastest tenth`,
		unit: "ms",
		digits: 2,
		value: after - before,
		target,
		from: { "direct ms": rounded(before, 3), "added at the median": added(times, 0.5) },
	});
}

for (const [name, bytes, target] of [
	["50 kB", 50_000, 2],
	["500 kB", 500_000, 6],
	["2 MB", 2_000_000, 25],
] as const) {
	// Against the same proxy without savings, in turn: each request has one result more than the last.
	const folder = join(tempFolder(), "savings");
	const saving = await startBenchProxy(provider.url, 64 * MIB, folder);
	const sides = [through, { url: saving.url, agent: new Agent({ keepAlive: true }) }] as const;
	let talk = new GrowingTalk(bytes, "first");
	const times: [number[], number[]] = [[], []];
	for (let round = -sized(80, 1); round < sized(120, 2); round++) {
		if (round % 10 === 0) {
			// Conversations start over, so that they keep about this size.
			talk = new GrowingTalk(bytes, `talk${round}`);
			await drained(await post(sides[1], "/v1/messages", talk.body()));
		}
		const body = talk.grow();
		for (const side of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
			const start = performance.now();
			const answer = await post(sides[side], "/v1/messages", body);
			const ms = performance.now() - start;
			await drained(answer);
			if (round >= 0) times[side].push(ms);
		}
	}
	sides[1].agent.destroy();
	await saving.stop();
	const [before, after] = times.map((all) => median(all)) as [number, number];
	lines.push({
		case: `savings, request of ${name}: added to the proxy at the median`,
		unit: "ms",
		digits: 2,
		value: after - before,
		target,
		from: { "without ms": rounded(before, 3), "added at the fastest tenth": added(times, 0.1) },
	});
}

{
	const path = `/stream?events=${sized(200, 5)}&everyMs=5`;
	const lags = await inTurn(sized(6, 1), sized(1, 0), (side) => lagsOf(side, path));
	const all = lags.map((rounds) => rounds.flat());
	lines.push({
		case: "lag of an event in a paced stream: added at the median",
		unit: "ms",
		digits: 2,
		value: median(all[1] ?? []) - median(all[0] ?? []),
		target: 0.2,
		from: { "direct ms": rounded(median(all[0] ?? []), 3), events: all[1]?.length ?? 0 },
	});
}

{
	const events = sized(20_000, 50);
	const rates = await inTurn(sized(7, 1), sized(2, 0), async (side) => {
		const start = performance.now();
		const asked = Array.from({ length: STREAMS }, async () =>
			drained(await post(side, `/stream?events=${events}`)),
		);
		await Promise.all(asked);
		return (STREAMS * events) / ((performance.now() - start) / 1000);
	});
	const [before, after] = rates as [number[], number[]];
	lines.push({
		case: `events a second, ${STREAMS} streams at once`,
		unit: "× direct",
		digits: 2,
		value: median(after.map((rate, round) => rate / (before[round] ?? Number.NaN))),
		atLeast: 0.6,
		from: { "direct per second": rounded(median(before), 0) },
	});
}

// Memory that earlier cases left unused would count too.
const fresh = await startBenchProxy(provider.url, 64 * MIB);
const counted = { url: fresh.url, agent: agents[2] };
{
	const body = Buffer.alloc(50_000, "x");
	const [few, some, many] = sized([1_000, 10_000, 20_000], [10, 20, 30]);
	let asked = 0;
	const rssAfter = async (requests: number) => {
		for (; asked < requests; asked++) await drained(await post(counted, "/plain", body));
		return (await fresh.figures()).rssBytes;
	};
	// The heap takes some thousand requests to reach its size.
	const first = await rssAfter(few);
	const early = await rssAfter(some);
	const late = await rssAfter(many);
	lines.push({
		case: "memory that the proxy gains from 10,000 to 20,000 requests of 50 kB",
		unit: "MB",
		value: (late - early) / MIB,
		target: 20,
		from: {
			"MB after 1,000": rounded(first / MIB),
			"after 10,000": rounded(early / MIB),
			"after 20,000": rounded(late / MIB),
		},
	});
}

{
	const count = sized(50, 3);
	const body = Buffer.alloc(500_000, "x");
	const path = `/stream?events=${sized(400, 5)}&everyMs=5`;
	const answers = Promise.all(
		Array.from({ length: count }, async () => drained(await post(counted, path, body))),
	);
	let isOver = false;
	const over = answers.finally(() => {
		isOver = true;
	});
	let most = 0;
	while (!isOver) {
		most = Math.max(most, (await fresh.figures()).rssBytes);
		await new Promise((resolve) => setTimeout(resolve, 20));
	}
	await over;
	lines.push({
		case: "memory of the proxy with 50 streams, requests of 500 kB",
		unit: "MB",
		value: most / MIB,
		target: 200,
	});
}

{
	// Without copies the same proxy shows what forwarding and the machine itself take.
	const plain = await startBenchProxy(provider.url, 0);
	const body = Buffer.alloc(LARGE_BYTES, "x");
	for (const [name, ask] of [
		["request of 32 MB", async ({ url }: Served) => postOnce(url, body)],
		["WebSocket answer frame of 32 MB", async ({ url }: Served) => askForFrame(url)],
	] as const) {
		const without = await heldMs(plain, ask);
		const held = await heldMs(proxy, ask);
		lines.push({
			case: `longest hold of the event loop, ${name}: added by copies`,
			unit: "ms",
			value: Math.max(0, held - without),
			target: 5,
			from: { "with ms": rounded(held), "without ms": rounded(without) },
		});
	}
	await plain.stop();
}

for (const agent of agents) agent.destroy();
await fresh.stop();
await proxy.stop();
await provider.stop();
report(lines);

/** Runs both sides in alternating order. Returns the results of the rounds that count: direct, proxy. */
async function inTurn<Result>(
	rounds: number,
	warmup: number,
	run: (side: Side) => Promise<Result>,
): Promise<[Result[], Result[]]> {
	const results: [Result[], Result[]] = [[], []];
	const sides = [0, 1] as const;
	for (let round = -warmup; round < rounds; round++) {
		for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
			const result = await run(side === 0 ? direct : through);
			if (round >= 0) results[side].push(result);
		}
	}
	return results;
}

async function post({ url, agent }: Side, path: string, body: Buffer = Buffer.from("{}")) {
	const request = httpRequest(url + path, { method: "POST", ...(agent && { agent }) });
	request.end(body);
	const [answer] = (await once(request, "response")) as [IncomingMessage];
	return answer;
}

async function drained(answer: IncomingMessage): Promise<void> {
	answer.resume();
	await once(answer, "end");
}

/** For each event, the time from its sending to its arrival here. */
async function lagsOf(side: Side, path: string): Promise<number[]> {
	const answer = await post(side, path);
	const lags: number[] = [];
	answer.on("data", (chunk: Buffer) => {
		const now = process.hrtime.bigint();
		for (const [, sent] of chunk.toString("latin1").matchAll(/"sent":(\d+)/g)) {
			lags.push(Number(now - BigInt(sent ?? 0)) / 1e6);
		}
	});
	await once(answer, "end");
	return lags;
}

function added([before, after]: [number[], number[]], share: number): number {
	return rounded(quantile(after, share) - quantile(before, share), 3);
}

async function postOnce(url: string, body: Buffer<ArrayBuffer>): Promise<void> {
	await drained(await post({ url, agent: undefined }, "/plain", body));
}

async function askForFrame(url: string): Promise<void> {
	const address = `${url.replace(/^http/, "ws")}/v1/responses?bytes=${LARGE_BYTES}`;
	const socket = new WebSocket(address, { perMessageDeflate: false });
	await once(socket, "open");
	let frames = 0;
	const answered = Promise.withResolvers<void>();
	socket.on("message", () => ++frames === 2 && answered.resolve());
	socket.send('{"type":"response.create"}');
	await answered.promise;
	socket.close();
}

async function heldMs(
	measured: ServedProxy,
	ask: (served: Served) => Promise<void>,
): Promise<number> {
	const held: number[] = [];
	for (let round = 0; round < sized(9, 1); round++) {
		await measured.figures();
		await ask(measured);
		// Copies are joined after the answer.
		await new Promise((resolve) => setTimeout(resolve, 100));
		held.push((await measured.figures()).heldMs);
	}
	return median(held);
}
