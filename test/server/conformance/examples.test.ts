// @module-tag slow
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PATIENCE_MS } from "../../support/patience.ts";
import { socketPath } from "../../support/temp.ts";
import {
	COUNT,
	type ConformanceServer,
	startConformanceServer,
} from "../support/conformance-server.ts";
import { connectWire } from "../support/wire-client.ts";

const token = "local-local-local-local";
const socket = socketPath();
let server: ConformanceServer;

beforeAll(async () => {
	server = await startConformanceServer({ tokens: { local: token }, words: ["--socket", socket] });
});

afterAll(() => server?.stop());

test("prompt-and-stream prints the answer of the model and leaves no session behind", {
	tags: "slow",
}, async () => {
	expect(await run("prompt-and-stream", address(), "Count!")).toBe(`${COUNT}\n`);
	expect(await run("unix-socket", socket)).toBe("0 sessions\n");
});

test("resume-after-disconnect sees every event over many connections, and the model is asked once", {
	tags: "slow",
}, async () => {
	const asked = server.loop.requests.length;
	const printed = await run("resume-after-disconnect", address());
	expect(printed).toMatch(/^\d{2,} events without a hole, over \d+ connections\n$/);
	const [, events, connections] = /^(\d+) .* over (\d+)/.exec(printed) ?? [];
	expect(Number(events)).toBeGreaterThan(30);
	expect(Number(connections)).toBeGreaterThan(3);
	expect(server.loop.requests.length - asked).toBe(1);
});

test("two-clients shows that of two changes one is refused, and that both see the other", {
	tags: "slow",
}, async () => {
	const printed = await run("two-clients", address());
	expect(printed).toContain("taken: the session is at version 1\n");
	expect(printed).toMatch(/^refused \(version_mismatch\): .*version 1/m);
	expect(printed).toMatch(/Bob sees the name "(Ann|Bob)'s"/);
	expect(printed).toMatch(/Bob sees event \d+: session_info_changed/);
});

test("unix-socket lists the sessions of who owns the socket", async () => {
	const client = await connectWire(server.url, token);
	await client.ask({ type: "create_session", sessionId: "listed" });
	const printed = await run("unix-socket", socket);
	expect(printed).toMatch(/^listed .+\n1 sessions\n$/);
	await client.ask({ type: "delete_session", sessionId: "listed" });
});

function address(): string {
	return `${server.url.replace("ws:", "http:")}/#token=${token}`;
}

async function run(name: string, ...words: string[]): Promise<string> {
	const file = fileURLToPath(new URL(`../../../examples/${name}.js`, import.meta.url));
	const { stdout } = await promisify(execFile)(process.execPath, [file, ...words], {
		timeout: PATIENCE_MS,
	});
	return stdout;
}
