// @module-tag slow
import { type SpawnOptions, spawn, spawnSync } from "node:child_process";
import { type EventEmitter, once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { ask, bodyOf, startUpstream } from "../proxy/harness.ts";
import { code, read, bodyOf as talkBody } from "../savings/talks.ts";
import { StandIn } from "../support/stand-in/stand-in.ts";
import { atEnd, tempDir } from "../support/temp.ts";

const MAIN = fileURLToPath(new URL("../../bin/strata.js", import.meta.url));
const ASK = `const r = await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", {
	method: "POST", body: "question", headers: { "x-api-key": "sentinel-key" } });
	console.log(r.status, await r.text());`;

/** An upstream in the place of Anthropic, and a user's folder whose settings name it. */
async function startWorld() {
	const asked: { url: string; key: unknown; body: string }[] = [];
	const gate = Promise.withResolvers<void>();
	const { url } = await startUpstream(async (request, response) => {
		const body = String(await bodyOf(request));
		asked.push({ url: request.url ?? "", key: request.headers["x-api-key"], body });
		response.write("ans");
		if (request.url?.includes("slow")) await gate.promise;
		response.end("wer");
	});
	const agentDir = tempDir();
	const settings = { proxy: { upstreams: { anthropic: url } } };
	writeFileSync(join(agentDir, "strata.json"), JSON.stringify(settings));
	const env: NodeJS.ProcessEnv = { ...process.env, PI_CODING_AGENT_DIR: agentDir };
	for (const name of Object.keys(env))
		if (/_BASE_URL$|_API_BASE$|_proxy$/i.test(name)) delete env[name];
	const start = (words: string[], options: Pick<SpawnOptions, "detached"> = {}) => {
		const child = spawn(process.execPath, [MAIN, ...words], {
			cwd: agentDir,
			env,
			stdio: ["ignore", "pipe", "pipe"],
			...options,
		});
		atEnd(() => child.kill("SIGKILL"));
		return { child, ...outputOf(child) };
	};
	return { asked, gate, agentDir, env, start };
}

function outputOf(child: { stdout: Readable; stderr: Readable } & EventEmitter) {
	let out = "";
	let err = "";
	child.stdout.on("data", (chunk) => {
		out += chunk;
	});
	child.stderr.on("data", (chunk) => {
		err += chunk;
	});
	const closed = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>;
	return { out: () => out, err: () => err, closed };
}

describe("strata run", () => {
	test("runs a program behind a proxy, passes its status on and stores no text and no key", async () => {
		const { asked, agentDir, start } = await startWorld();
		const script = `${ASK} process.exit(7)`;
		const run = start(["run", "--", process.execPath, "--input-type=module", "-e", script]);
		expect(await run.closed).toEqual([7, null]);
		expect(run.out()).toBe("200 answer\n");
		expect(run.err()).toBe("strata: 1 request passed, none was billed (1 not booked)\n");
		expect(asked).toEqual([{ url: "/v1/messages", key: "sentinel-key", body: "question" }]);
		expect(readdirSync(agentDir)).toEqual(["strata", "strata.json"]);
		const stored = readdirSync(join(agentDir, "strata"), { recursive: true, withFileTypes: true })
			.filter((entry) => entry.isFile())
			.map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
		expect(stored.join("")).not.toMatch(/sentinel-key|question/);
		expect((await start(["clean", "--delete", "traffic", "--yes"]).closed)[0]).toBe(0);
		expect(existsSync(join(agentDir, "strata", "traffic"))).toBe(false);
	});

	test.each([
		["birth", ["--savings", "birth", "--"]],
		["birth", ["--savings=birth"]],
		["shadow", ["--savings", "shadow"]],
		["off", ["--savings", "off", "--"]],
		["off", []],
	])("with savings %s: %j", async (savings, words) => {
		const { asked, agentDir, start } = await startWorld();
		const turns = [
			{ user: "What does a.ts do?" },
			read("toolu_1", "a.ts", code("a")),
			read("toolu_2", "a.ts", code("a")),
		];
		const bodies = [2, 3].map((count) => String(talkBody("anthropic", turns.slice(0, count))));
		writeFileSync(join(agentDir, "bodies.json"), JSON.stringify(bodies));
		const script = `for (const body of JSON.parse(require("fs").readFileSync("bodies.json", "utf8")))
			await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", body });`;
		const program = [process.execPath, "-e", `(async () => { ${script} })()`];
		const run = start(["run", ...words, ...program]);
		expect(await run.closed).toEqual([0, null]);
		const [first, second] = asked.map(({ body }) => body);
		expect(first).toBe(bodies[0]);
		if (savings === "birth") expect(second).toContain("[strata: lines 1-30 of the output of `read");
		else expect(second).toBe(bodies[1]);
		expect(existsSync(join(agentDir, "strata", "savings"))).toBe(savings === "birth");
	});

	test("with savings, excluded files are not referred to", async () => {
		const { asked, agentDir, start } = await startWorld();
		const turns = [
			{ user: "Why?" },
			read("toolu_1", ".env", code("a")),
			read("toolu_2", ".env", code("a")),
		];
		const body = String(talkBody("anthropic", turns));
		writeFileSync(join(agentDir, "body.json"), body);
		const script = `fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST",
			body: require("fs").readFileSync("body.json", "utf8") })`;
		const run = start(["run", "--savings", "birth", "--", process.execPath, "-e", script]);
		expect(await run.closed).toEqual([0, null]);
		expect(asked.map((one) => one.body)).toEqual([body]);
	});

	test.each(["shadow", "birth"])("with savings %s, says that WebSockets stay", async (savings) => {
		const standIn = await StandIn.start();
		atEnd(() => standIn.close());
		const { agentDir, start } = await startWorld();
		const settings = { proxy: { upstreams: { openai: standIn.url } } };
		writeFileSync(join(agentDir, "strata.json"), JSON.stringify(settings));
		const body = JSON.parse(String(talkBody("responses", [{ user: "Hi." }])));
		const frame = JSON.stringify({ type: "response.create", ...body });
		const script = `const socket = new WebSocket(process.env.OPENAI_BASE_URL.replace(/^http/, "ws") + "/responses");
			socket.onopen = () => socket.send(${JSON.stringify(frame)});
			socket.onmessage = ({ data }) => JSON.parse(data).type === "response.completed" && socket.close();`;
		const run = start(["run", "--savings", savings, "--", process.execPath, "-e", script]);
		expect(await run.closed).toEqual([0, null]);
		expect(standIn.requests.map((one) => String(one.body))).toEqual([frame]);
		expect(run.err()).toContain("; 1 request over WebSockets not shortened (see proxy.websocket)");
		const traffic = start(["traffic", "1"]);
		await traffic.closed;
		expect(traffic.out()).toContain("results stay: WebSockets are sent as they are");
	});

	test("says which savings there are", async () => {
		const { start } = await startWorld();
		const run = start(["run", "--savings", "all", "--", "claude"]);
		expect((await run.closed)[0]).toBe(2);
		expect(run.err()).toContain('--savings must be one of off, shadow, birth, got "all"');
	});

	test("passes options on without `--`, and says if nothing was seen", async () => {
		const { start } = await startWorld();
		const run = start(["run", process.execPath, "-p", "1 + 1"]);
		expect(await run.closed).toEqual([0, null]);
		expect(run.out()).toBe("2\n");
		expect(run.err()).toBe("strata: no request went through the proxy\n");
	});

	test("passes a signal on, and has the status of a program that it ends", async () => {
		const { start } = await startWorld();
		const script = `process.on("SIGTERM", () => process.exit(5)); console.log("up"); setInterval(() => {}, 1e6)`;
		const own = start(["run", process.execPath, "-e", script]);
		await expect.poll(own.out).toBe("up\n");
		own.child.kill("SIGTERM");
		expect(await own.closed).toEqual([5, null]);
		const killed = start(["run", process.execPath, "-e", `process.kill(process.pid, "SIGKILL")`]);
		expect(await killed.closed).toEqual([137, null]);
	});

	test("an interrupt without a terminal reaches the program, once", async () => {
		const { start } = await startWorld();
		const script =
			'let n = 0; process.on("SIGINT", () => console.log("interrupts", ++n)); process.on("SIGTERM", () => process.exit()); ' +
			'console.log("up"); setInterval(() => {}, 1e6)';
		const words = ["run", process.execPath, "-e", script];
		// In a session of its own there is no terminal.
		const alone = start(words, { detached: true });
		await expect.poll(alone.out).toMatch(/^up/);
		alone.child.kill("SIGINT");
		await expect.poll(alone.out).toContain("interrupts");
		alone.child.kill("SIGTERM");
		await alone.closed;
		expect(alone.out()).toMatch(/interrupts 1\n$/);
	});

	const hasPty = spawnSync("script", ["--version"]).stdout?.includes("util-linux");
	/** Runs a shell line in a terminal. `$RUN` is strata with a program that counts interrupts. */
	async function startInTerminal(line: string) {
		const { agentDir, env } = await startWorld();
		const program = join(agentDir, "program.mjs");
		writeFileSync(
			program,
			`let n = 0;
			process.on("SIGINT", () => n++ === 0 && setTimeout(() => { console.log(\`interrupts \${n}\`); process.exit(); }, 500));
			console.log("up"); setTimeout(() => process.exit(), 60_000);`,
		);
		const words = [process.execPath, MAIN, "run", process.execPath, program];
		const quoted = words.map((word) => `'${word}'`).join(" ");
		const child = spawn("script", ["-qefc", line.replace("$RUN", quoted), "/dev/null"], {
			cwd: agentDir,
			env: { ...env, SHELL: "/bin/bash" },
			stdio: ["pipe", "pipe", "pipe"],
		});
		atEnd(() => child.kill("SIGKILL"));
		const output = outputOf(child);
		await expect.poll(output.out).toMatch(/up/);
		return { child, ...output };
	}

	test.skipIf(!hasPty)(
		"an interrupt of a terminal is not sent twice if the input is a file",
		async () => {
			const { child, out, closed } = await startInTerminal("$RUN < /dev/null");
			child.stdin.write("\x03");
			await closed;
			expect(out()).toContain("interrupts 1");
		},
	);

	test.skipIf(!hasPty)(
		"an interrupt for a job in the background of a terminal is passed on, once",
		async () => {
			// With job control the job has a process group of its own.
			const line = "set -m; $RUN < /dev/null & read; kill -INT $!; wait";
			const { child, out, closed } = await startInTerminal(line);
			child.stdin.write("\n");
			await closed;
			expect(out()).toContain("interrupts 1");
		},
	);

	test("a program that is not there has status 127; without a program it is 2", async () => {
		const { start } = await startWorld();
		const absent = start(["run", "no-such-agent"]);
		expect(await absent.closed).toEqual([127, null]);
		expect(absent.err()).toBe('strata run: cannot start "no-such-agent": not found\n');
		expect((await start(["run"]).closed)[0]).toBe(2);
	});
});

describe("strata proxy", () => {
	test("says where it listens, forwards, and drains streams before it ends", async () => {
		const { asked, gate, start } = await startWorld();
		const proxy = start(["proxy", "--port", "0", "--json"]);
		await expect.poll(proxy.out).toMatch(/\n$/);
		const { type, port, urls } = JSON.parse(proxy.out());
		expect(type).toBe("ready");
		expect(urls.anthropic).toBe(`http://127.0.0.1:${port}/anthropic`);
		const answer = ask(port, "/anthropic/slow", { method: "POST", body: "{}" });
		await expect.poll(() => asked.map(({ url }) => url)).toEqual(["/slow"]);
		proxy.child.kill("SIGTERM");
		await expect.poll(() => ask(port, "/anthropic/").catch(() => "refused")).toBe("refused");
		gate.resolve();
		expect(String((await answer).body)).toBe("answer");
		expect(await proxy.closed).toEqual([0, null]);
	});

	test("a port in use ends it with one line", async () => {
		const { start } = await startWorld();
		const first = start(["proxy", "--port", "0", "--json"]);
		await expect.poll(first.out).toMatch(/\n$/);
		const second = start(["proxy", "--port", String(JSON.parse(first.out()).port)]);
		expect((await second.closed)[0]).toBe(1);
		expect(second.err()).toMatch(
			/^strata proxy: port \d+ on 127\.0\.0\.1 is in use; choose another\n$/,
		);
	});
});
