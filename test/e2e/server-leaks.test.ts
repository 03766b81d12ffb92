import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test, vi } from "vitest";
import { SessionTable } from "../../src/server/sessions/session-table.ts";
import { enterAgentDir, leaveAgentDir } from "../support/agent-dir.ts";
import { PATIENCE } from "../support/patience.ts";
import { sdk } from "../support/pi-sdk.ts";
import { atEnd, tempDir } from "../support/temp.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

test("sessions that were created and deleted leave nothing behind", {
	tags: "slow",
}, async () => {
	process.env.PI_OFFLINE = "1";
	const agentDir = tempDir();
	const cwd = tempDir();
	enterAgentDir(agentDir);
	atEnd(() => leaveAgentDir(agentDir));
	const modelRuntime = await sdk.ModelRuntime.create({
		authPath: join(agentDir, "auth.json"),
		modelsPath: null,
		refreshOnCreate: false,
	});
	const host = { agentDir, modelRuntime };
	const owners = { own() {}, disown() {} };
	const piProcesses = async () => new Map<string, number>();
	const base = { ...host, owners, piProcesses, emit() {}, save() {} };
	const table = new SessionTable({ ...base, recovered: [], maxSessions: 2 });
	const left: WeakRef<object>[] = [];
	for (let round = 0; round < 20; round++) {
		const record = { principal: "anna", id: "s", cwd, createdAtMs: 0, settings: {} };
		const held = await table.add(record);
		const { session } = await held.live();
		left.push(new WeakRef(held), new WeakRef(session), new WeakRef(session.sessionManager));
		await table.remove(held);
	}
	expect(table.count).toBe(0);
	await vi.waitFor(() => {
		collect();
		// The last round may still stand in some register or cache.
		expect(alive(left)).toBeLessThanOrEqual(3);
	}, PATIENCE);
});

function alive(refs: readonly WeakRef<object>[]): number {
	return refs.filter((ref) => ref.deref() !== undefined).length;
}
