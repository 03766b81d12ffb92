import { execFile } from "node:child_process";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { PATIENCE } from "../support/patience.ts";
import { socketPath } from "../support/temp.ts";
import { type ScriptServer, startScriptServer } from "./script-server.ts";

let server: ScriptServer;

beforeEach(async () => {
	server = await startScriptServer();
});

afterEach(() => server.close());

test("prompt-and-stream prints the answer and leaves no session behind", async () => {
	expect(await run("prompt-and-stream", "Count!")).toBe(
		"one two three four five six seven eight nine ten \n",
	);
	expect(server.executed.at(-1)).toBe("delete_session");
});

test("resume-after-disconnect sees every event over many connections and prompts once", {
	tags: "slow",
}, async () => {
	expect(await run("resume-after-disconnect")).toMatch(
		/^11 events without a hole, over [2-9] connections\n$/,
	);
	expect(server.executed.filter((type) => type === "prompt")).toHaveLength(1);
});

test("two-clients shows that of two changes one is refused, and that both see the other", async () => {
	const printed = await run("two-clients");
	expect(printed).toContain("taken: the session is at version 1");
	expect(printed).toContain("refused (version_mismatch): the session is at version 1");
	expect(printed).toMatch(/Bob sees the name "(Ann|Bob)'s"/);
	expect(printed).toContain("Bob sees event 1: session_info_changed");
});

test("unix-socket lists the sessions, also when a frame comes in pieces or holds U+2028", async () => {
	const path = socketPath();
	const ready = { type: "server_ready", data: { protocolVersion: "1.0.0" } };
	const sessions = [{ sessionId: "a", cwd: "/x\u2028y" }];
	const listening = createServer((socket) => {
		socket.write(`${JSON.stringify(ready)}\n`);
		socket.on("data", (chunk) => {
			for (const line of String(chunk).trimEnd().split("\n")) {
				const { id, type } = JSON.parse(line);
				if (type !== "list_sessions") continue;
				const answer = { type: "response", command: type, success: true, id, data: { sessions } };
				const bytes = Buffer.from(`${JSON.stringify(answer)}\n`);
				const middle = bytes.indexOf("\u2028") + 1;
				socket.write(bytes.subarray(0, middle));
				setTimeout(() => socket.write(bytes.subarray(middle)), 20);
			}
		});
	});
	await new Promise<void>((resolve) => listening.listen(path, resolve));
	const { stdout } = await execute([fileOf("unix-socket"), path]);
	listening.close();
	expect(stdout).toBe("a /x\u2028y\n1 sessions\n");
});

test.each(["prompt-and-stream", "resume-after-disconnect", "two-clients", "unix-socket"])(
	"%s without an address says how it is used",
	async (name) => {
		await expect(execute([fileOf(name)])).rejects.toMatchObject({
			code: 2,
			stderr: expect.stringContaining(`usage: node examples/${name}.js`),
		});
	},
);

async function run(name: string, ...words: string[]): Promise<string> {
	return (await execute([fileOf(name), server.url, ...words])).stdout;
}

function execute(words: string[]): Promise<{ stdout: string; stderr: string }> {
	return promisify(execFile)(process.execPath, words, PATIENCE);
}

function fileOf(name: string): string {
	return fileURLToPath(new URL(`../../examples/${name}.js`, import.meta.url));
}
