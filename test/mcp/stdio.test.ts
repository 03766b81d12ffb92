import { PassThrough } from "node:stream";
import { expect, test, vi } from "vitest";
import { createMcpServer } from "../../src/mcp/index.ts";
import { lineTransport } from "../../src/mcp/stdio.ts";
import { PATIENCE } from "../support/patience.ts";
import { fc } from "../support/property.ts";
import { tempDir } from "../support/temp.ts";
import { writeProject } from "./connect.ts";

const SOON = { ...PATIENCE, interval: 1 };

interface Message {
	readonly id?: unknown;
	readonly method?: string;
	readonly result?: Record<string, unknown>;
	readonly error?: { code: number };
}

/** A server at two pipes, and what it has written so far. */
async function atPipes() {
	const input = new PassThrough();
	const output = new PassThrough();
	const server = createMcpServer({ agentDir: tempDir("agent"), cwd: writeProject(), version: "1" });
	await server.connect(lineTransport(input, output));
	let written = "";
	output.setEncoding("utf8").on("data", (text: string) => {
		written += text;
	});
	const messages = (): Message[] =>
		written
			.split("\n")
			.filter((line) => line !== "")
			.map((line) => JSON.parse(line));
	const answerTo = (id: unknown) =>
		vi.waitFor(() => {
			const found = messages().find((message) => message.id === id && !message.method);
			if (!found) throw new Error(`no answer to ${id}`);
			return found;
		}, SOON);
	const send = (message: object) =>
		input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
	return { input, server, send, answerTo, messages };
}

test("what is not a message is ignored, and the next one is answered", async () => {
	const { input, send, answerTo, messages } = await atPipes();
	input.write(
		'\nnot json\n[]\n42\nnull\n{"id":1}\n{"jsonrpc":"2.0","id":{},"method":"ping"}\n\u0000\n',
	);
	send({ id: 7, result: {} }); // an answer to nothing
	send({ method: "notifications/cancelled", params: { requestId: 99 } });
	send({ method: "notifications/constructor" });
	send({ id: "last", method: "ping" });
	expect(await answerTo("last")).toEqual({ jsonrpc: "2.0", id: "last", result: {} });
	expect(messages()).toHaveLength(1);
});

test("methods that are unknown, or names of every object, are not found", async () => {
	const { send, answerTo } = await atPipes();
	for (const method of ["server/discover", "__proto__", "constructor", "toString", ""]) {
		send({ id: method, method });
		expect((await answerTo(method)).error?.code).toBe(-32_601);
	}
	send({ id: 1, method: "tools/call", params: { name: 7 } });
	expect((await answerTo(1)).error?.code).toBe(-32_602);
	send({ id: 2, method: "tools/call", params: { name: "__proto__" } });
	expect((await answerTo(2)).result).toMatchObject({ isError: true });
});

test.each([
	["2025-11-25", "2025-11-25"],
	["2024-11-05", "2024-11-05"],
	["2099-01-01", "2025-11-25"],
	[undefined, "2025-11-25"],
])("a client that speaks %s is answered in %s", async (protocolVersion, expected) => {
	const { send, answerTo } = await atPipes();
	send({ id: 0, method: "initialize", params: { protocolVersion } });
	expect((await answerTo(0)).result?.protocolVersion).toBe(expected);
});

test("a message may arrive in any pieces", async () => {
	const line = Buffer.from(`${JSON.stringify({ jsonrpc: "2.0", id: "ä€😀", method: "ping" })}\n`);
	await fc.assert(
		fc.asyncProperty(fc.array(fc.nat(line.length), { maxLength: 6 }), async (cuts) => {
			const { input, server, answerTo } = await atPipes();
			const places = [0, ...cuts.toSorted((a, b) => a - b), line.length];
			for (const [at, place] of places.entries())
				input.write(line.subarray(places[at - 1] ?? 0, place));
			expect((await answerTo("ä€😀")).result).toEqual({});
			await server.close();
		}),
		{ numRuns: 10 },
	);
});

test("each message of a batch is answered", async () => {
	const { input, answerTo } = await atPipes();
	const batch = [1, 2].map((id) => ({ jsonrpc: "2.0", id, method: "ping" }));
	input.write(`${JSON.stringify(batch)}\n`);
	for (const id of [1, 2]) expect((await answerTo(id)).result).toEqual({});
});

test("no more is read from a client that does not read, until it does", async () => {
	const [input, output] = [new PassThrough(), new PassThrough({ highWaterMark: 1_000 })];
	const server = createMcpServer({ agentDir: tempDir("agent"), cwd: writeProject(), version: "1" });
	await server.connect(lineTransport(input, output));
	const ask = (id: number) =>
		input.write(`${JSON.stringify({ jsonrpc: "2.0", id, method: "tools/list" })}\n`);
	ask(0);
	await vi.waitFor(() => expect(input.isPaused()).toBe(true), SOON);
	for (let id = 1; id <= 50; id++) ask(id);
	expect(input.readableLength).toBeGreaterThan(0);
	let lines = 0;
	output.setEncoding("utf8").on("data", (text: string) => {
		lines += text.split("\n").length - 1;
	});
	await vi.waitFor(() => expect(lines).toBe(51), SOON);
	expect(output.listenerCount("close")).toBeLessThan(5);
	await server.close();
});

test("a client that sends no line feed is cut off", async () => {
	const { input } = await atPipes();
	const piece = Buffer.alloc(1024 * 1024, "x");
	for (let at = 0; at < 17 && !input.destroyed; at++) input.write(piece);
	await vi.waitFor(() => expect(input.destroyed).toBe(true), SOON);
});

test("a client with too many calls in flight is answered that the server is busy, and a cancelled call makes room", async () => {
	const { send, answerTo, messages } = await atPipes();
	const capabilities = { roots: {} };
	send({ id: "i", method: "initialize", params: { capabilities } });
	await answerTo("i");
	// Nothing is known of the client's folders until it answers, so no call ends.
	const call = (id: number) =>
		send({ id, method: "tools/call", params: { name: "read_page", arguments: { uri: "a" } } });
	for (let id = 1; id <= 66; id++) call(id);
	const busy = { code: -32_000, message: expect.stringContaining("busy: 64 calls are in flight") };
	expect(await answerTo(65)).toMatchObject({ error: busy });
	expect(await answerTo(66)).toMatchObject({ error: busy });
	send({ id: "p", method: "ping" });
	expect(await answerTo("p")).toMatchObject({ result: {} });
	send({ method: "notifications/cancelled", params: { requestId: 5 } });
	send({ id: "p2", method: "ping" });
	await answerTo("p2");
	call(67);
	send({ id: "p3", method: "ping" });
	await answerTo("p3");
	expect(messages().some(({ id }) => id === 67)).toBe(false);
});
