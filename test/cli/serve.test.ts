import { statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { startServe } from "../server/support/serve-process.ts";
import { connectClient } from "../server/support/ws-client.ts";
import { atEnd, socketPath, tempDir } from "../support/temp.ts";

const CLONE = fileURLToPath(new URL("../..", import.meta.url));

describe("strata serve", () => {
	test("serves, keeps others off its folder and port, and ends in order on SIGTERM", {
		tags: "slow",
	}, async () => {
		const server = startServe(["--port", "0", "--json"]);
		const { port, url, pid } = await server.ready();
		expect(pid).toBe(server.child.pid);
		expect((await fetch(`${url}healthz`)).status).toBe(200);
		expect((await fetch(`${url}readyz`)).status).toBe(200);
		expect((await fetch(`${url}metrics`)).status).toBe(401);
		const authorization = `Bearer ${server.token()}`;
		const metrics = await fetch(`${url}metrics`, { headers: { authorization } });
		expect(await metrics.text()).toContain("strata_commands_accepted_total 0");
		expect(server.out()).not.toContain(server.token());
		expect(statSync(join(server.dataDir, "tokens")).mode & 0o777).toBe(0o600);

		const client = await connectClient(`ws://127.0.0.1:${port}`, { token: server.token() });
		await client.next(({ type }) => type === "server_ready");
		expect(client.received[0]).toMatchObject({
			type: "server_ready",
			data: { protocolVersion: "1.0.0", transports: ["websocket"] },
		});
		client.socket.send('{"type":"list_sessions","id":"1"}');
		expect(await client.next(({ type }) => type === "response")).toMatchObject({
			success: true,
			id: "1",
			data: { sessions: [] },
		});

		const [sameFolder, samePort] = [
			startServe(["--port", "0"], { agentDir: server.agentDir }),
			startServe([], { env: { PI_SERVER_PORT: String(port) } }),
		];
		expect((await sameFolder.exited).code).toBe(1);
		expect(sameFolder.err()).toMatch(new RegExp(`^.*another server \\(process ${pid}\\).*\n$`));
		expect((await samePort.exited).code).toBe(1);
		expect(samePort.err()).toMatch(new RegExp(`^.*port ${port} on 127.0.0.1 is in use.*\n$`));

		server.child.kill("SIGTERM");
		expect(await client.closed).toMatchObject({ code: 1001 });
		expect(client.received.at(-1)).toMatchObject({
			type: "server_shutdown",
			data: { reason: "received SIGTERM" },
		});
		expect(await server.exited).toEqual({ code: 0, signal: null });
		expect(server.err()).toBe("");
	});

	test.each([
		["where npm was called", tempDir()],
		["nowhere, in pi-strata's own folder", undefined],
	])(
		"started by npm, begins sessions that name no folder %s",
		{ tags: "slow" },
		async (_where, folder) => {
			const INIT_CWD = folder ?? CLONE;
			const server = startServe(["--stdio", "--demo", "never"], { cwd: CLONE, env: { INIT_CWD } });
			server.child.stdin.end('{"type":"list_sessions","id":"1"}\n');
			await server.exited;
			const { data } = server
				.out()
				.split("\n")
				.flatMap((line) => (line.includes('"response"') ? [JSON.parse(line)] : []))[0];
			expect(data).toEqual({ sessions: [], ...(folder && { startsIn: { folder } }) });
		},
	);

	test("over stdio says nothing but the protocol and ends with its input", {
		tags: "slow",
	}, async () => {
		const server = startServe(["--stdio"]);
		server.child.stdin.end('{"type":"list_sessions","id":"1"}\n{"type":"nonsense"}\n');
		expect(await server.exited).toEqual({ code: 0, signal: null });
		const messages = server
			.out()
			.trimEnd()
			.split("\n")
			.map((line) => JSON.parse(line));
		expect(messages[0]).toMatchObject({ type: "server_ready", data: { transports: ["stdio"] } });
		const responses = messages.filter(({ type }) => type === "response");
		expect(responses).toEqual([
			expect.objectContaining({ command: "nonsense", success: false, code: "unknown_command" }),
			expect.objectContaining({ command: "list_sessions", success: true, id: "1" }),
		]);
		expect(messages.at(-1)).toMatchObject({ type: "server_shutdown" });
	});

	test("after SIGKILL the folder and the socket are free, and what was answered is still known", {
		tags: "slow",
	}, async () => {
		const socket = socketPath();
		const first = startServe(["--socket", socket, "--json"]);
		expect(await first.ready()).toMatchObject({ socket });
		const create = '{"type":"create_session","id":"c1","sessionId":"kept"}\n';
		const created = await ask(socket, create);
		expect(created).toMatchObject({ success: true, sessionVersion: 0 });
		first.child.kill("SIGKILL");
		await first.exited;

		const second = startServe(["--socket", socket, "--json"], { agentDir: first.agentDir });
		await second.ready();
		expect(await ask(socket, create)).toMatchObject({ success: true, replayed: true, id: "c1" });
		expect(await ask(socket, '{"type":"list_sessions","id":"l1"}\n')).toMatchObject({
			data: { sessions: [expect.objectContaining({ sessionId: "kept" })] },
		});
		expect(await ask(socket, '{"type":"get_startup_recovery"}\n')).toMatchObject({
			data: { crashed: true, sessions: 1 },
		});
		second.child.kill("SIGINT");
		expect(await second.exited).toEqual({ code: 0, signal: null });
	});

	test.each([
		[["--port", "70000"], '--port must be a number from 0 to 65535, got "70000"'],
		[["--port", "x"], 'got "x"'],
		[["--auth", "basic"], '--auth must be one of token, none, got "basic"'],
		[["--tls-cert", "c.pem"], "--tls-cert and --tls-key must be used together"],
		[["--limit", "maxSesions=1"], 'did you mean "maxSessions"?'],
		[["now"], 'unexpected argument "now"'],
	])("wrong usage exits 2: %j", async (words, fault) => {
		const { status, err } = await run(...words);
		expect(status).toBe(2);
		expect(err).toContain(fault);
	});

	test.each([
		[["--host", "0.0.0.0"], "needs --tls-cert and --tls-key"],
		[["--host", "0.0.0.0", "--auth", "none"], "--auth none is allowed only for loopback"],
		[["--origin", "*"], 'origin "*"'],
		[["--tls-cert", "c.pem", "--tls-key", "k.pem"], "cannot read"],
	])("what would be unsafe or cannot be exits 1 with one line: %j", async (words, fault) => {
		const { status, err } = await run("--port", "0", ...words);
		expect(status).toBe(1);
		expect(err).toContain(fault);
		expect(err.trimEnd().split("\n")).toHaveLength(1);
	});
});

async function run(...words: string[]) {
	const err: string[] = [];
	const status = await main(["serve", "--no-dashboard", ...words], {
		cwd: tempDir(),
		env: { PI_CODING_AGENT_DIR: tempDir() },
		print() {},
		write() {},
		printError: (line) => err.push(line),
	});
	return { status, err: err.join("\n") };
}

/** The response to one line over a Unix socket. */
function ask(path: string, line: string): Promise<unknown> {
	return new Promise((resolve, reject) => {
		const socket = connect(path);
		atEnd(() => socket.destroy());
		let text = "";
		socket.on("error", reject);
		socket.on("data", (chunk) => {
			text += chunk;
			const found = text
				.split("\n")
				.slice(0, -1)
				.map((message) => JSON.parse(message))
				.find(({ type }) => type === "response");
			if (!found) return;
			socket.destroy();
			resolve(found);
		});
		socket.write(line);
	});
}
