import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type ServeProcess, startServe } from "./support/serve-process.ts";
import { connectWire } from "./support/wire-client.ts";

const words = ["--port", "0", "--auth", "none", "--demo", "always", "--json"];

/** A server on the folder, one that does not end by itself. */
async function start(agentDir?: string): Promise<ServeProcess & { url: string }> {
	const server = startServe(words, agentDir === undefined ? {} : { agentDir });
	const { port } = await server.ready();
	return { ...server, url: `127.0.0.1:${port}` };
}

async function readiness({ url }: { url: string }): Promise<{ status: number; text: string }> {
	const response = await fetch(`http://${url}/readyz`);
	return { status: response.status, text: await response.text() };
}

async function kill({ child, exited }: ServeProcess): Promise<void> {
	child.kill("SIGKILL");
	await exited;
}

test("a server whose journal lost confirmed commands says so, refuses changes and runs none again until the loss is accepted", {
	tags: "slow",
}, async () => {
	const first = await start();
	const create = { type: "create_session", id: "create", sessionId: "s" };
	const client = await connectWire(`ws://${first.url}`);
	expect(await client.ask(create)).toMatchObject({ success: true });
	await kill(first);
	rmSync(join(first.dataDir, "journal.db"));

	const second = await start(first.agentDir);
	expect(await readiness(second)).toEqual({
		status: 503,
		text: expect.stringMatching(/lacks records that were already confirmed/),
	});
	expect(second.err()).toMatch(/^strata serve: changes are refused: .*confirmed.*$/m);
	const next = await connectWire(`ws://${second.url}`);
	expect(await next.ask(create)).toMatchObject({ success: false, code: "journal_unavailable" });
	expect(await next.ask({ type: "list_sessions" })).toMatchObject({ success: true });
	await kill(second);

	rmSync(join(first.dataDir, "journal.mark"));
	const third = await start(first.agentDir);
	expect(await readiness(third)).toMatchObject({ status: 200 });
});
