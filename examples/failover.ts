// Starts three servers on one Postgres, kills the one that has the session, and goes on with the others. The client
// sees every event once. It needs a database of its own, and uses the scripted demo model.
//
//   STRATA_DATABASE=postgres://user@host/database npx node examples/failover.ts
//
// Node runs TypeScript outside of node_modules only: from the package, copy this file and client.js into your project.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createClient, webSocketTransport } from "./client.js";

interface Server {
	readonly address: string;
	readonly child: ChildProcess;
}

/** How long the others wait for a server that is silent. The default is 15. */
const LEASE_SECONDS = 2;

// An argument would show in ps, with the password that the address may have.
if (!process.env.STRATA_DATABASE) {
	console.error("usage: STRATA_DATABASE=<address of a database> node examples/failover.ts");
	process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), "strata-failover-"));
const servers: Server[] = [];
let turn = 0;
/** Each attempt to connect goes to the next server, as a load balancer does it. */
const client = createClient({
	transport: {
		open: (listener) => webSocketTransport(nextServer().address).open(listener),
	},
	firstRetryMs: 50,
	lastRetryMs: 500,
});

try {
	for (const name of ["one", "two", "three"]) servers.push(await startServer(name));
	console.log(`three servers: ${servers.map(({ address }) => address).join(" ")}`);

	const opened = await client.request("create_session", { cwd: folder });
	const { sessionId } = opened.data;
	let last = 0;
	let holes = 0;
	client.subscribe(
		sessionId,
		(frame) => {
			if (frame.type !== "event" || frame.seq === undefined) return;
			if ((frame.fromSeq ?? frame.seq) !== last + 1) holes++;
			last = frame.seq;
		},
		{ after: 0 },
	);
	await client.request("set_session_name", { sessionId, name: "before" });
	await client.request("bash", { sessionId, command: "echo said before" });

	const owner = await ownerOf(sessionId);
	console.log(`${owner.address} has the session; it is killed while it runs a command`);
	// It is sent once, and runs at most once: the next owner reports that the last one did not finish it.
	const interrupted = client.request("bash", { sessionId, command: "sleep 60" }).catch(codeOf);
	await until(async () => {
		const { data } = await client.request("get_state", { sessionId });
		return data.isBashRunning;
	});
	owner.child.kill("SIGKILL");
	servers.splice(servers.indexOf(owner), 1);
	console.log(`the command ended: ${await interrupted}`);

	const { data: state } = await client.request("get_state", { sessionId });
	console.log(`${(await ownerOf(sessionId)).address} has it now; its name is ${state.sessionName}`);
	const { sessionVersion } = await client.request("set_session_name", { sessionId, name: "after" });
	const { data } = await client.request("get_entries", { sessionId });
	const isWhole = JSON.stringify(data.entries).includes("said before");
	console.log(`version ${sessionVersion}; the conversation is ${isWhole ? "whole" : "lost"}`);
	const { data: newest } = await client.request("switch_session", { sessionId });
	await until(async () => last >= newest.seq);
	console.log(`${last} events, ${holes} holes`);
	await client.request("delete_session", { sessionId });
} catch (error) {
	console.error(error instanceof Error ? error.message : error);
	process.exitCode = 1;
} finally {
	client.close();
	await Promise.all(servers.map(stopServer));
	rmSync(folder, { recursive: true, force: true });
}

function nextServer(): Server {
	const server = servers[turn++ % servers.length];
	if (!server) throw new Error("no server is left");
	return server;
}

/** The server that has the session; any server knows. */
async function ownerOf(sessionId: string): Promise<Server> {
	const { sessions } = (await client.request("list_sessions")).data;
	const address = sessions.find((session) => session.sessionId === sessionId)?.server;
	const found = servers.find((server) => server.address === address);
	if (!found) throw new Error(`no server has the session ${sessionId}`);
	return found;
}

async function startServer(name: string): Promise<Server> {
	const clone = fileURLToPath(new URL("../bin/strata.js", import.meta.url));
	const [program, ...first] = existsSync(clone) ? [process.execPath, clone] : ["strata"];
	const words = ["serve", "--port", "0", "--auth", "none", "--json", "--no-dashboard"];
	const shared = ["--demo", "always", "--lease", String(LEASE_SECONDS), "--shared-workspaces"];
	const child = spawn(program as string, [...first, ...words, ...shared], {
		cwd: folder,
		env: { ...process.env, PI_CODING_AGENT_DIR: join(folder, name) },
		stdio: ["ignore", "pipe", "inherit"],
	});
	for await (const line of createInterface({ input: child.stdout })) {
		const { port } = JSON.parse(line);
		return { address: `ws://127.0.0.1:${port}/`, child };
	}
	throw new Error(`server ${name} did not start`);
}

async function stopServer({ child }: Server): Promise<void> {
	if (child.exitCode !== null || child.signalCode !== null) return;
	await new Promise((resolve) => {
		child.once("exit", resolve);
		child.kill("SIGTERM");
	});
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
	while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 50));
}

function codeOf(error: unknown): string {
	return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
