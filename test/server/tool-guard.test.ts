import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { GUARD_SCRIPT } from "../../src/server/tool-guard.ts";
import { PATIENCE } from "../support/patience.ts";
import { tempDir } from "../support/temp.ts";
import { startServe } from "./support/serve-process.ts";
import { connectWire } from "./support/wire-client.ts";

const isAlive = (pid: number) => existsSync(`/proc/${pid}`) && !isZombie(pid);

function isZombie(pid: number): boolean {
	try {
		return / Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
	} catch {
		return true;
	}
}

function childrenOf(pid: number): number[] {
	const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
	return text.split(" ").filter(Boolean).map(Number);
}

/** A server with a tool that has left a process of its own behind, in another group. */
async function serverWithTool() {
	const workspace = tempDir();
	const server = startServe(["--port", "0", "--auth", "none", "--json", "--limit", "drainMs=200"]);
	const { port } = await server.ready();
	const client = await connectWire(`ws://127.0.0.1:${port}`);
	await client.ask({ type: "create_session", sessionId: "s", cwd: workspace });
	const pids = join(workspace, "pids");
	const command = `setsid sleep 600 & echo $! > "${pids}"; echo $$ >> "${pids}"; sleep 600`;
	client.send({ type: "bash", id: "tool", sessionId: "s", command });
	const read = () =>
		existsSync(pids) ? readFileSync(pids, "utf8").trim().split("\n").map(Number) : [];
	await vi.waitFor(() => expect(read()).toHaveLength(2), PATIENCE);
	return { server, pids: read() };
}

describe.runIf(existsSync("/proc/self/environ"))("the guard of tools", { tags: "slow" }, () => {
	test("ends the tools of a server that was killed, and whatever they started", async () => {
		const { server, pids } = await serverWithTool();
		expect(pids.every(isAlive)).toBe(true);
		server.child.kill("SIGKILL");
		await server.exited;
		await vi.waitFor(() => expect(pids.some(isAlive)).toBe(false), PATIENCE);
	});

	test("stops no timer that is over: another process may have its id", async () => {
		const [kills, sleeps] = [join(tempDir(), "kills"), join(tempDir(), "sleeps")];
		const noting = `kill() { echo "$*" >> "${kills}"; command kill "$@"; }
			sleep() { echo "$*" >> "${sleeps}"; command sleep "$@"; }\n`;
		const marks = ["strata-guard", "NO_SUCH_MARK=1", String(process.pid)];
		const guard = spawn("/bin/sh", ["-c", noting + GUARD_SCRIPT, ...marks]);
		const exited = new Promise((resolve) => guard.once("exit", resolve));
		guard.stdin.write("0\n");
		const timers = () => childrenOf(guard.pid ?? 0).filter(isAlive);
		await vi.waitFor(() => expect(existsSync(sleeps)).toBe(true), PATIENCE);
		await vi.waitFor(() => expect(timers()).toEqual([]), PATIENCE);
		guard.stdin.write("60\n");
		await vi.waitFor(() => expect(timers()).toHaveLength(1), PATIENCE);
		const [timer] = timers();
		guard.stdin.end("bye\n");
		await exited;
		expect(readFileSync(kills, "utf8")).toBe(`${timer}\n`);
	});

	test("leaves alone what a stopped server has left running", async () => {
		const { server, pids } = await serverWithTool();
		const [left = 0, tool = 0] = pids;
		server.child.kill("SIGTERM");
		await server.exited;
		await vi.waitFor(() => expect(isAlive(tool)).toBe(false), PATIENCE);
		expect(isAlive(left)).toBe(true);
		process.kill(left, "SIGKILL");
	});
});
