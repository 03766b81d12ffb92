import { globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { Book } from "../../src/traffic/book.ts";
import { conversationReport, conversationText } from "../../src/traffic/index.ts";
import { Recorder } from "../../src/traffic/recorder.ts";
import type { Exchange } from "../../src/wire/exchange.ts";
import { framesOf } from "../support/frames.ts";
import { atEnd, tempDir } from "../support/temp.ts";
import { type Prompt, StandIn, says, step, streamOf, TOOLS } from "./stand-in.ts";

async function recording(
	options: { keepTexts?: boolean; folder?: string; keepDays?: number } = {},
) {
	const { folder = join(tempDir(), "traffic"), keepTexts = false, keepDays = 30 } = options;
	const provider = new StandIn();
	const open = async () => {
		const opened = await Recorder.open({ folder, keepTexts, keepDays }, () => provider.nowMs);
		atEnd(() => opened.close());
		return opened;
	};
	let recorder = await open();
	const send = (prompt: Prompt, changes?: Parameters<StandIn["exchange"]>[1]) =>
		recorder.add(provider.exchange(prompt, changes));
	const restart = async () => {
		recorder.close();
		recorder = await open();
	};
	/** Reads the book in a connection of its own. */
	const read = async <T>(look: (book: Book) => T): Promise<T> => {
		const book = await Book.openForReading(folder);
		if (!book) throw new Error("there is no book");
		try {
			return look(book);
		} finally {
			book.close();
		}
	};
	const rows = () =>
		read((book) =>
			book
				.conversations()
				.flatMap(({ id }) => book.requests(id))
				.sort((a, b) => a.id - b.id),
		);
	const misses = async () =>
		(await rows()).flatMap(({ miss }) => (miss ? [`${miss.cause}: ${miss.changed ?? "-"}`] : []));
	const add = (exchange: Exchange) => recorder.add(exchange);
	return { folder, provider, send, add, restart, read, rows, misses };
}

const NOTHING = { input: 0, read: 0, write: 0, output: 0 };
const first = [says("question")];
const second = [...first, ...step("a")];
const third = [...second, ...step("b")];

test("an unknown client's names are in the book as hashes only", async () => {
	const { provider, add, folder, read } = await recording();
	const exchange = provider.exchange({ messages: first }, { requestHeaders: {} });
	const sent = JSON.parse(Buffer.from(exchange.requestBody ?? []).toString());
	const user_id = JSON.stringify({ session_id: "alice@example.com" });
	const bodyOf = (value: object) => new Uint8Array(Buffer.from(JSON.stringify(value)));
	await add({ ...exchange, requestBody: bodyOf({ ...sent, metadata: { user_id } }) });
	const usage = { input_tokens: 10, output_tokens: 2 };
	const answer = { object: "response", id: "r", model: "gpt-5.5", status: "completed", usage };
	await add({
		...{ ...exchange, upstream: "openai", path: "/v1/responses" },
		requestBody: bodyOf({ model: "gpt-5.5", input: "hello", prompt_cache_key: "bob@example.com" }),
		...{ answerType: "application/json", answerBody: bodyOf({ ...answer, output: [] }) },
	});
	const names = await read((book) =>
		book.conversations().map(({ speaker, cacheKey }) => speaker.session ?? cacheKey),
	);
	expect(names).toEqual([
		expect.stringMatching(/^[0-9a-f]{16}$/),
		expect.stringMatching(/^[0-9a-f]{16}$/),
	]);
	const stored = globSync(join(folder, "*")).filter((path) => statSync(path).isFile());
	for (const path of stored) expect(readFileSync(path, "latin1")).not.toContain("@example.com");
});

describe("a conversation without a disturbance", () => {
	test("has no misses, and its sums equal the provider's bills to the token", async () => {
		const { send, read, provider, misses } = await recording();
		let messages = first;
		for (let at = 0; at < 20; at++) {
			await send({ messages });
			messages = [...messages, ...step(`${at}`, 300)];
		}
		expect(await misses()).toEqual([]);
		const [sums, ...others] = await read((book) => book.sums());
		expect(others).toEqual([]);
		const total = (name: "input" | "read" | "write" | "output") =>
			provider.bills.reduce((sum, bill) => sum + bill[name], 0);
		expect(sums).toMatchObject({ requests: 20, misses: 0, unpriced: 0, model: "claude-opus-5" });
		expect(sums?.tokens).toEqual({
			...{ input: total("input"), read: total("read"), write: total("write") },
			...{ writeOneHour: 0, output: total("output") },
		});
		// Opus 5: $5 for a million plain tokens, $25 for those of answers.
		const { input, read: cached, write, output } = sums?.tokens ?? NOTHING;
		expect(sums?.dollars).toBeCloseTo(
			(input * 5 + cached * 0.5 + write * 6.25 + output * 25) / 1e6,
			6,
		);
	});

	test("is continued after a restart, without a miss and with all of its pieces", async () => {
		const { send, restart, rows, misses } = await recording();
		await send({ messages: first });
		await send({ messages: second });
		await restart();
		await send({ messages: third });
		const [, , last] = await rows();
		expect(last).toMatchObject({ conversation: 1, step: "next", shared: 3, base: 2 });
		expect(await misses()).toEqual([]);
	});
});

describe("a miss that was provoked is named with its first differing piece:", () => {
	const provoked: [
		string,
		string,
		(send: (prompt: Prompt, pauseMs?: number) => unknown) => unknown,
	][] = [
		[
			"a tool more",
			"tools: tool Web",
			(send) => send({ tools: [...TOOLS, "Web"], messages: third }),
		],
		[
			"a tool less",
			"tools: tool Bash (gone)",
			(send) => send({ tools: ["Read"], messages: third }),
		],
		[
			"another system prompt",
			"system: system prompt",
			(send) => send({ system: "x", messages: third }),
		],
		["another model", "model: -", (send) => send({ model: "claude-sonnet-5", messages: third })],
		[
			"another effort",
			"thinking: setting effort",
			(send) => send({ effort: "low", messages: third }),
		],
		["a pause", "expired: -", (send) => send({ messages: third }, 6 * 60_000)],
		[
			"an earlier message",
			"messages: user message 1",
			(send) => send({ messages: [says("other"), ...third.slice(1)] }),
		],
		[
			"a compaction after a pause",
			"compaction: user message 1",
			(send) => send({ messages: [says("summary", 2000)] }, 6 * 60_000),
		],
	];

	test.each(provoked)("%s", async (_, expected, provoke) => {
		const { send, misses, rows } = await recording();
		await send({ messages: first });
		await send({ messages: second });
		await provoke((prompt, pauseMs) => send(prompt, pauseMs === undefined ? {} : { pauseMs }));
		expect(await misses()).toEqual([expected]);
		const [, , last] = await rows();
		expect(last?.conversation).toBe(1);
		expect(last?.miss?.tokens).toBeGreaterThan(900);
		expect(last?.miss?.dollars).toBeGreaterThan(0);
	});

	test.each(provoked)("%s, after a restart", async (_, expected, provoke) => {
		const { send, misses, restart } = await recording();
		await send({ messages: first });
		await send({ messages: second });
		await restart();
		await provoke((prompt, pauseMs) => send(prompt, pauseMs === undefined ? {} : { pauseMs }));
		expect(await misses()).toEqual([expected]);
	});

	test("a branch from the middle of a request, whose cached part ends before", async () => {
		const { send, misses } = await recording();
		await send({ messages: first });
		const turns = [...first, ...step("a", 3000), ...step("b", 3000)];
		await send({ messages: turns });
		await send({ messages: [...turns.slice(0, 3), says("rather")] });
		expect(await misses()).toEqual(["branch: user message 4"]);
	});
});

describe("no miss is invented", () => {
	test("for a rewound conversation whose common part is read from the cache", async () => {
		const { send, misses, rows } = await recording();
		for (const messages of [first, second, third]) await send({ messages });
		await send({ messages: [...second, says("rather", 5000)] });
		expect((await rows()).at(-1)?.step).toBe("branch");
		expect(await misses()).toEqual([]);
	});

	test("for sub-agents, titles and summaries in between", async () => {
		const { send, misses, read } = await recording();
		const subagent = { "x-claude-code-session-id": "s1", "x-claude-code-agent-id": "x" };
		await send({ messages: first });
		await send({ tools: [], system: "title", model: "claude-haiku-4-5", messages: first });
		await send({ messages: second });
		await send({ system: "sub", messages: [says("task")] }, { requestHeaders: subagent });
		await send({ messages: [...second, says("summarize")] });
		await send({ messages: third });
		await send(
			{ system: "sub", messages: [says("task"), ...step("sub")] },
			{ requestHeaders: subagent },
		);
		await send({ messages: [...third, ...step("c")] });
		expect(await misses()).toEqual([]);
		const sums = await read((book) => book.sums());
		expect(sums.map(({ id, requests }) => [id, requests]).sort()).toEqual([
			[1, 5],
			[2, 1],
			[3, 2],
		]);
	});

	test("for requests in parallel, of which none could read what another wrote", async () => {
		const { provider, add, misses } = await recording();
		const base = provider.exchange({ messages: second });
		await add(base);
		const long = [...second, ...step("c", 5000)];
		const one = provider.exchange({ messages: [...long, says("one")] });
		const parallel = new StandIn();
		parallel.nowMs = provider.nowMs - 1000;
		parallel.exchange({ messages: second }, { pauseMs: 0 });
		const two = parallel.exchange({ messages: [...long, says("two")] }, { pauseMs: 1050 });
		await add(one);
		await add(two);
		expect(await misses()).toEqual([]);
	});
});

describe("an exchange", () => {
	test("that asks no model is not booked", async () => {
		const { send, read } = await recording();
		const other = [
			{ path: "/v1/models", method: "GET" },
			{ path: "/v1/messages/count_tokens" },
			{ path: "/v1/messages", method: "HEAD" },
			{ path: "/api/event_logging/batch" },
		];
		for (const changes of other) {
			expect(await send({ messages: first }, changes)).toEqual({ kind: "other" });
		}
		expect(await read((book) => book.conversations())).toEqual([]);
	});

	test.each([
		["gzip", gzipSync],
		["br", brotliCompressSync],
		["zstd", zstdCompressSync],
		["deflate", deflateSync],
		["GZIP", gzipSync],
	] as const)("is read if its bodies have the encoding %s", async (encoding, compress) => {
		const { provider, add, read } = await recording();
		const exchange = provider.exchange({ messages: first });
		const { requestBody = new Uint8Array(), answerBody = new Uint8Array() } = exchange;
		await add({
			...exchange,
			...{ requestEncoding: encoding, requestBody: new Uint8Array(compress(requestBody)) },
			...{ answerEncoding: encoding, answerBody: new Uint8Array(compress(answerBody)) },
		});
		const { input, write } = provider.bills[0] ?? {};
		expect((await read((book) => book.sums()))[0]?.tokens).toMatchObject({ input, write });
	});

	test("whose compressed answer was cut is booked with the bill of its first event", async () => {
		const { provider, add, rows } = await recording();
		const exchange = provider.exchange({ messages: first });
		const whole = gzipSync(exchange.answerBody ?? new Uint8Array());
		const answerBody = new Uint8Array(whole.subarray(0, whole.length - 30));
		await add({ ...exchange, answerEncoding: "gzip", answerBody, end: "upstream-cut" });
		const [row] = await rows();
		expect(row).toMatchObject({
			ended: "upstream-cut",
			tokens: { write: provider.bills[0]?.write },
		});
	});

	test("that was refused is booked without a bill, and its retry is no miss", async () => {
		const { provider, add, send, rows, misses } = await recording();
		await send({ messages: first });
		const error = { type: "error", error: { type: "overloaded_error", message: "secret" } };
		const answerBody = new Uint8Array(Buffer.from(JSON.stringify(error)));
		const refused = { status: 529, answerType: "application/json", answerBody };
		await add({ ...provider.exchange({ messages: second }), ...refused });
		await send({ messages: second });
		expect((await rows())[1]).toMatchObject({ ended: "error", error: "overloaded_error" });
		expect((await rows())[1]?.tokens).toBeUndefined();
		expect(await misses()).toEqual([]);
	});

	test("that a gateway refused with a page is booked as an error", async () => {
		const { provider, add, rows } = await recording();
		const answerBody = new Uint8Array(Buffer.from("<html>secret</html>"));
		const refused = { status: 502, answerType: "text/html", answerBody };
		await add({ ...provider.exchange({ messages: first }), ...refused });
		expect((await rows())[0]).toMatchObject({ ended: "error", error: "HTTP 502" });
	});

	test.each([
		["fast", { service_tier: "standard", speed: "fast" }],
		["of the priority tier", { service_tier: "priority" }],
	])("whose answer is %s has no price, but a cost in tokens", async (_, tier) => {
		const { provider, add, read, rows } = await recording();
		await add(provider.exchange({ messages: first }));
		const exchange = provider.exchange({ messages: second, system: "other" });
		const usage = { input_tokens: 3, cache_creation_input_tokens: 9000, output_tokens: 5, ...tier };
		const answer = { type: "message", id: "m", model: "claude-opus-5", usage };
		const answerBody = new Uint8Array(Buffer.from(JSON.stringify(answer)));
		await add({ ...exchange, answerType: "application/json", answerBody });
		expect((await read((book) => book.sums()))[0]).toMatchObject({ requests: 2, unpriced: 1 });
		const [, last] = await rows();
		expect(last?.cost).toBeGreaterThan(9000);
		expect(last?.miss?.cost).toBeGreaterThan(1000);
		expect([last?.dollars, last?.miss?.dollars]).toEqual([undefined, undefined]);
	});

	test("for which the model was called twice is billed for both and fills the window once", async () => {
		const { provider, add, read, rows, restart, misses } = await recording();
		const call = (read: number, write: number) => ({
			type: "message",
			...{ input_tokens: 1, cache_read_input_tokens: read, cache_creation_input_tokens: write },
		});
		const answerOf = (usage: object) => {
			const answer = { type: "message", id: "m", model: "claude-opus-5", usage };
			const answerBody = new Uint8Array(Buffer.from(JSON.stringify(answer)));
			return { answerType: "application/json", answerBody };
		};
		const calls = [call(20_000, 1000), call(21_000, 500)];
		const usage = {
			...{ input_tokens: 2, cache_read_input_tokens: 41_000, cache_creation_input_tokens: 1500 },
			...{ output_tokens: 9, iterations: calls },
		};
		await add({ ...provider.exchange({ messages: first }), ...answerOf(usage) });
		const [sums] = await read((book) => book.sums());
		expect(sums).toMatchObject({ context: 21_501, tokens: { read: 41_000, write: 1500 } });
		await restart();
		const next = { ...call(21_500, 900), output_tokens: 9 };
		await add({ ...provider.exchange({ messages: second }), ...answerOf(next) });
		expect(await misses()).toEqual([]);
		expect((await rows())[0]?.lastPrompt?.read).toBe(21_000);
	});

	test("whose prompt the provider cleared says so, also after a restart", async () => {
		const { folder, provider, add, restart, misses } = await recording();
		const cleared = (tokens: number, usage: object) => {
			const applied_edits = [
				{ type: "clear_tool_uses_20250919", cleared_tool_uses: 3, cleared_input_tokens: tokens },
			];
			const message = { type: "message", model: "claude-opus-5", usage };
			const answer = { ...message, context_management: { applied_edits } };
			const answerBody = new Uint8Array(Buffer.from(JSON.stringify(answer)));
			return { answerType: "application/json", answerBody };
		};
		const hit = { cache_read_input_tokens: 60_000, cache_creation_input_tokens: 500 };
		const miss = { cache_read_input_tokens: 9000, cache_creation_input_tokens: 30_000 };
		await add({ ...provider.exchange({ messages: first }), ...cleared(0, hit) });
		await restart();
		await add({ ...provider.exchange({ messages: second }), ...cleared(22_000, miss) });
		await restart();
		await add({ ...provider.exchange({ messages: third }), ...cleared(22_000, miss) });
		expect(await misses()).toEqual(["cleared: -", "provider: -"]);
		const book = (await Book.openForReading(folder)) as Book;
		const report = conversationReport(book, 1);
		book.close();
		expect(report && conversationText(report).join("\n")).toContain(
			"the provider cleared 22,000 tokens",
		);
	});

	test("of a WebSocket above the limits is unreadable, and a refused WebSocket is another", async () => {
		const { provider, add } = await recording();
		const { requestBody: _, answerBody: __, ...bare } = provider.exchange({ messages: first });
		const socket = { ...bare, method: "GET", path: "/v1/responses" };
		expect(await add({ ...socket, status: 101 })).toEqual({ kind: "unreadable" });
		expect(await add({ ...socket, status: 426 })).toEqual({ kind: "other" });
	});

	test("whose bill is absurd is booked with bounded counts", async () => {
		const { provider, add, read } = await recording();
		for (const count of [1e300, 2 ** 62, 1.5]) {
			const answerBody = streamOf({ input: count, read: count, write: count, output: count });
			await add({ ...provider.exchange({ messages: first }), answerBody });
		}
		const tokens = (await read((book) => book.sums()))[0]?.tokens;
		expect(tokens).toMatchObject({ input: 2e9 + 2, output: 2e9 + 2 });
	});

	test("that is hostile neither throws nor is booked", async () => {
		const { provider, add, read } = await recording();
		const exchange = provider.exchange({ messages: first });
		const bodies = [
			Buffer.from(crypto.getRandomValues(new Uint8Array(10_000))),
			Buffer.alloc(0),
			Buffer.from("null"),
			Buffer.from("[".repeat(1_000_000)),
			Buffer.from(`{"messages":${"[".repeat(100_000)}`),
			Buffer.from('{"messages":[{"role":"user","content":"\xff\xfe'),
		];
		for (const body of bodies) {
			for (const requestEncoding of [undefined, "gzip", "zstd", "br", "nonsense", "a,b,c,d"]) {
				const requestBody = new Uint8Array(body);
				const { requestEncoding: _, ...rest } = exchange;
				await add({ ...rest, requestBody, ...(requestEncoding && { requestEncoding }) });
			}
		}
		const { requestBody: _, ...without } = exchange;
		expect(await add(without)).toEqual({ kind: "unreadable" });
		expect((await read((book) => book.sums())).map(({ tokens }) => tokens.output)).toEqual([]);
	});

	test("with a bomb for a body is not unpacked", { tags: "slow" }, async () => {
		const { provider, add } = await recording();
		const requestBody = new Uint8Array(gzipSync(Buffer.alloc(80 * 1024 * 1024, 32), { level: 1 }));
		const bomb = {
			...provider.exchange({ messages: first }),
			requestBody,
			requestEncoding: "gzip",
		};
		expect(await add(bomb)).toEqual({ kind: "unreadable" });
	});

	test("with millions of values is not parsed, as they would fill the memory", {
		tags: "slow",
	}, async () => {
		const { provider, add, rows } = await recording();
		const exchange = provider.exchange({ messages: first });
		const values = `[${"{},".repeat(4_000_000)}{}]`;
		const body = `{"model":"m","messages":[{"role":"user","content":[{"type":"x","list":${values}}]}]}`;
		const requestBody = new Uint8Array(Buffer.from(body));
		expect(await add({ ...exchange, requestBody })).toEqual({ kind: "unreadable" });
		const answerBody = new Uint8Array(Buffer.from(`data: ${values}\n\n`));
		await add({ ...exchange, answerBody });
		expect((await rows()).map(({ ended }) => ended)).toEqual(["cut"]);
	});

	test("with millions of values in the frames of a WebSocket is not parsed either", {
		tags: "slow",
	}, async () => {
		const { provider, add, rows } = await recording();
		const { answerBody: _, ...exchange } = provider.exchange({ messages: first });
		const item = `{"list":[${"{},".repeat(1_000_000)}{}]}`;
		const frame = `{"type":"response.output_item.done","item":${item}}`;
		const requestBody = new Uint8Array(Buffer.from('{"type":"response.create","input":"x"}'));
		const socket = { ...exchange, requestBody, method: "GET", path: "/v1/responses", status: 101 };
		await add({ ...socket, frames: framesOf(Array(8).fill(frame)) });
		expect((await rows()).map(({ ended, tokens }) => [ended, tokens])).toEqual([
			["cut", undefined],
		]);
	});

	test("with a line of 10 MB and deep JSON in its answer is booked", { tags: "slow" }, async () => {
		const { provider, add, rows } = await recording();
		const exchange = provider.exchange({ messages: [says("large", 3_000_000)] });
		const noise = `data: ${"x".repeat(10_000_000)}\n\ndata: ${"[".repeat(500_000)}\n\n`;
		const answerBody = new Uint8Array(
			Buffer.concat([Buffer.from(noise), exchange.answerBody ?? new Uint8Array()]),
		);
		await add({ ...exchange, answerBody });
		expect((await rows())[0]?.tokens?.write).toBe(provider.bills[0]?.write);
	});
});

describe("the book", () => {
	const everything = (folder: string) =>
		globSync("**/*", { cwd: folder, withFileTypes: true })
			.filter((entry) => entry.isFile())
			.map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
			.join("\n");

	test("has no text of requests and answers", async () => {
		const { folder, send } = await recording();
		await send({ messages: third });
		await send({ messages: [...third, ...step("c")], effort: "low", system: "other" });
		const written = everything(folder);
		expect(written).toContain("SQLite format 3");
		expect(written).toContain("/w/secret-free/a.ts");
		expect(written.replaceAll("secret-free", "")).not.toMatch(/secret|lorem/);
	});

	test("has texts only if asked for, in files that only the user can read", async () => {
		const { folder, send } = await recording({ keepTexts: true });
		await send({ messages: third });
		expect(everything(folder)).toContain("secret question");
		expect(readFileSync(join(folder, "book.sqlite"), "latin1")).not.toContain("secret question");
		const files = globSync("texts/objects/*", { cwd: folder });
		expect(files).toHaveLength(2);
		for (const file of files) expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
	});

	test("has the texts of a WebSocket's answer, too, if asked for", async () => {
		const { folder, provider, add } = await recording({ keepTexts: true });
		const { answerBody: _, ...exchange } = provider.exchange({ messages: first });
		const requestBody = new Uint8Array(Buffer.from('{"type":"response.create","input":"x"}'));
		const socket = { ...exchange, requestBody, method: "GET", path: "/v1/responses", status: 101 };
		await add({
			...socket,
			frames: framesOf(['{"type":"a","text":"secret said"}', '{"type":"b"}']),
		});
		expect(everything(folder)).toContain('{"type":"a","text":"secret said"}\n{"type":"b"}');
	});

	test("can be read by its user alone", async () => {
		const { folder, send } = await recording();
		await send({ messages: first });
		const files = globSync("book.sqlite*", { cwd: folder });
		expect(files.length).toBeGreaterThan(1);
		for (const file of files) expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
	});

	test("of an older version is migrated when it is read", async () => {
		const { folder, read, send } = await recording();
		await send({ messages: first });
		const database = new DatabaseSync(join(folder, "book.sqlite"));
		const later = ["ttl", "cleared", "lastPrompt", "savedTokens", "savedInShadow", "kept"];
		for (const name of later) {
			database.exec(`ALTER TABLE request DROP COLUMN ${name}`);
		}
		database.exec("PRAGMA user_version = 1");
		database.close();
		expect(await read((book) => book.sums().map(({ requests }) => requests))).toEqual([1]);
	});

	test("takes about a kilobyte for a request", { tags: "slow" }, async () => {
		const { folder, send } = await recording();
		let messages = first;
		for (let at = 0; at < 300; at++) {
			await send({ messages });
			messages = [...messages, ...step(`${at}`, 20)];
		}
		const bytes = statSync(join(folder, "book.sqlite")).size;
		const log = statSync(join(folder, "book.sqlite-wal"), { throwIfNoEntry: false })?.size ?? 0;
		expect(bytes / 300).toBeLessThan(1100);
		expect(log).toBeLessThan(8 * 1024 * 1024);
	});

	test("is written by two recorders at once", async () => {
		const one = await recording();
		const other = await recording({ folder: one.folder });
		const session = (name: string) => ({ requestHeaders: { "x-claude-code-session-id": name } });
		for (let at = 0; at < 5; at++) {
			await Promise.all([
				one.send({ messages: [...first, ...step(`${at}`)] }, session("one")),
				other.send({ messages: [...first, ...step(`x${at}`)] }, session("other")),
			]);
		}
		const sums = await one.read((book) => book.sums());
		const requests = sums.reduce((sum, { requests }) => sum + requests, 0);
		expect(requests).toBe(10);
		expect(new Set(sums.map(({ speaker }) => speaker.session))).toEqual(new Set(["one", "other"]));
	});

	test("lets one process continue a conversation that another began later", async () => {
		const one = await recording();
		await one.send({ messages: [says("other")] }, { requestHeaders: {} });
		const other = await recording({ folder: one.folder });
		await other.send({ messages: first });
		await other.send({ messages: second });
		one.provider.nowMs = other.provider.nowMs;
		await one.send({ messages: third });
		const rows = await one.rows();
		expect(rows.map(({ conversation, step }) => [conversation, step])).toEqual([
			[1, "start"],
			[2, "start"],
			[2, "next"],
			[2, "next"],
		]);
	});

	test("forgets conversations that were unused for `keepDays`", async () => {
		const { send, read } = await recording({ keepDays: 2 });
		await send({ messages: first });
		const later = { requestHeaders: { "x-claude-code-session-id": "s2" }, pauseMs: 3 * 86_400_000 };
		await send({ messages: [says("later")] }, later);
		expect(await read((book) => book.conversations().map(({ id }) => id))).toEqual([2]);
		await send({ messages: second });
		expect(await read((book) => book.requests(1).length)).toBe(1);
	});
});
