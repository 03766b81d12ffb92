import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { listenUnixSocket, serveStdio } from "../../../src/server/transports/line-transports.ts";
import { atEnd, socketPath, tempDir } from "../../support/temp.ts";
import { echoConnections } from "../support/echo-server.ts";

describe("stdio", () => {
	test("says it is ready first, then answers each line", async () => {
		const { input, lines } = stdio();
		input.write('{"a":"\u2028"}\r\n\n{"b":');
		input.write("1}\n");
		expect(await lines(3)).toMatchObject([
			{ type: "server_ready" },
			{ data: '{"a":"\u2028"}' },
			{ data: '{"b":1}' },
		]);
	});

	test("answers one line that is too long with one failure and goes on behind it", async () => {
		const { input, lines } = stdio(100);
		input.write("x".repeat(5_000));
		input.write(`${"y".repeat(5_000)}\n{"ok":1}\n`);
		expect((await lines(3)).slice(1)).toEqual([
			expect.objectContaining({ type: "response", success: false, code: "too_large" }),
			expect.objectContaining({ data: '{"ok":1}' }),
		]);
	});

	test("the end of the input is told, after what came before it was answered", async () => {
		const { input, lines, ended } = stdio();
		input.end('{"last":1}');
		await ended;
		expect((await lines(2))[1]).toMatchObject({ data: '{"last":1}' });
	});

	test("does not read on while nobody reads what it writes", { tags: "slow" }, async () => {
		const { input, output, heard } = stdio(10_000_000, { hardQueueBytes: 100_000 });
		const line = `"${"x".repeat(10_000)}"\n`;
		output.pause();
		output.removeAllListeners("data");
		for (let i = 0; i < 400; i++) input.write(line);
		await turns(50);
		const heardWhileStuck = heard.length;
		expect(heardWhileStuck).toBeLessThan(400);
		output.resume();
		await until(() => heard.length === 400);
	});
});

describe("a Unix socket", () => {
	test("is open to its owner only and serves several clients as local", async () => {
		const path = socketPath();
		const { clients } = await listen(path);
		expect(statSync(path).mode & 0o777).toBe(0o600);
		const [one, two] = [open(path), open(path)];
		one.socket.write('{"n":1}\n');
		two.socket.write('{"n":2}\n');
		expect((await one.lines(2))[1]).toMatchObject({ data: '{"n":1}' });
		expect((await two.lines(2))[1]).toMatchObject({ data: '{"n":2}' });
		expect([...clients].map(({ principal }) => principal)).toEqual(["local", "local"]);
		one.socket.destroy();
		await until(() => clients.size === 1);
	});

	test("answers a client that has sent all it has to say before it hangs up", async () => {
		const path = socketPath();
		const { clients, answers } = await listen(path);
		answers.hold();
		const one = open(path);
		const ended = new Promise((resolve) => one.socket.on("end", resolve));
		one.socket.end('{"n":1}\n{"n":2}');
		await until(() => answers.held === 2);
		answers.release();
		expect(await one.lines(3)).toMatchObject([
			{ type: "server_ready" },
			{ data: '{"n":1}' },
			{ data: '{"n":2}' },
		]);
		await ended;
		await until(() => clients.size === 0);
	});

	test("takes no more of lines that do not end than there is room for in all", async () => {
		const path = socketPath();
		const { clients } = await listen(path, { maxUnfinishedBytesInAll: 350_000 }, 1_000_000);
		const all = [open(path), open(path)];
		const closed = Promise.race(all.map(({ socket }) => once(socket, "close")));
		for (const { socket } of all) socket.write(`"${"x".repeat(200_000)}`);
		await closed;
		await until(() => clients.size === 1);
		const left = all.find(({ socket }) => !socket.destroyed);
		left?.socket.write('"\n');
		expect((await left?.lines(2))?.[1]).toMatchObject({ type: "response" });
	});

	test("that a dead process left behind is replaced", async () => {
		const path = socketPath();
		const script = `require("net").createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, "SIGKILL"))`;
		const child = spawn(process.execPath, ["-e", script]);
		await new Promise((resolve) => child.on("exit", resolve));
		expect(existsSync(path)).toBe(true);
		await listen(path);
		expect((await open(path).lines(1))[0]).toMatchObject({ type: "server_ready" });
	});

	test("that somebody listens on is left alone", async () => {
		const path = socketPath();
		const other = createServer().listen(path);
		atEnd(() => other.close());
		await new Promise((resolve) => other.on("listening", resolve));
		await expect(listen(path)).rejects.toThrow(`another process listens on ${path}`);
		expect(existsSync(path)).toBe(true);
	});

	test("never replaces a file that is no socket", async () => {
		const path = socketPath();
		writeFileSync(path, "mine");
		chmodSync(path, 0o600);
		await expect(listen(path)).rejects.toThrow("is not a socket");
		expect(statSync(path).size).toBe(4);
	});

	test("with a path that is too long is refused in words", async () => {
		await expect(listen(join(tempDir(), "x".repeat(120)))).rejects.toThrow("choose a shorter one");
	});
});

function stdio(maxFrameBytes = 10_000, limits: { hardQueueBytes?: number } = {}) {
	const { connections, heard } = echoConnections(limits);
	const input = new PassThrough();
	const output = new PassThrough();
	const ended = Promise.withResolvers<void>();
	const lines = collect(output);
	serveStdio({ input, output, connections, maxFrameBytes, onEnd: ended.resolve });
	return { input, output, heard, lines, ended: ended.promise };
}

async function listen(
	path: string,
	limits: { maxUnfinishedBytesInAll?: number } = {},
	maxFrameBytes = 10_000,
) {
	const { connections, clients, answers } = echoConnections(limits);
	const transport = await listenUnixSocket({
		path,
		connections: Promise.resolve(connections),
		maxFrameBytes,
		maxConnections: 10,
	});
	atEnd(() => transport.close());
	return { clients, answers };
}

function open(path: string): { socket: Socket; lines: ReturnType<typeof collect> } {
	const socket = connect(path);
	atEnd(() => socket.destroy());
	return { socket, lines: collect(socket) };
}

/** Resolves with the first so many lines of a stream, parsed. */
function collect(stream: NodeJS.ReadableStream) {
	let text = "";
	stream.on("data", (chunk) => {
		text += chunk;
	});
	return async (count: number): Promise<unknown[]> => {
		await until(() => text.split("\n").length > count);
		return text
			.split("\n")
			.slice(0, count)
			.map((line) => JSON.parse(line));
	};
}

async function until(isTrue: () => boolean): Promise<void> {
	while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5));
}

async function turns(count: number): Promise<void> {
	for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}
