import { spawn } from "node:child_process";
import { once } from "node:events";
import {
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	symlinkSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import {
	markDemo,
	markedSessions,
	markSession,
	runningDemos,
	sessionsInTerminals,
} from "../../src/core/session-marks.ts";
import { tempDir } from "../support/temp.ts";

function folders() {
	const agentDir = tempDir();
	const folder = join(agentDir, "strata", "open-sessions");
	const file = join(agentDir, "a.jsonl");
	writeFileSync(file, "");
	return { agentDir, folder, file };
}

/** A mark of this process, with something changed. */
async function changedMark(change: object) {
	const { agentDir, folder, file } = folders();
	markSession(agentDir, file);
	await expect.poll(async () => (await markedSessions(agentDir)).size).toBe(1);
	const [name = ""] = readdirSync(folder);
	const path = join(folder, name);
	writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), ...change }));
	return { agentDir, folder, file, path };
}

test("a marked session is known, through links too, until its mark is removed", async () => {
	const { agentDir, folder, file } = folders();
	const link = join(agentDir, "link.jsonl");
	symlinkSync(file, link);
	expect(await markedSessions(agentDir)).toEqual(new Map());
	const mark = markSession(agentDir, link);
	await expect.poll(() => markedSessions(agentDir)).toEqual(new Map([[file, process.pid]]));
	await mark.remove();
	expect(await markedSessions(agentDir)).toEqual(new Map());
	expect(readdirSync(folder)).toEqual([]);
	await mark.remove();
});

test("a mark that is removed at once leaves nothing behind", async () => {
	const { agentDir, folder, file } = folders();
	await markSession(agentDir, file).remove();
	expect(readdirSync(folder)).toEqual([]);
});

test("marks of a process that has ended, or whose id another one has, are evicted", async () => {
	const child = spawn(process.execPath, ["-e", ""]);
	await once(child, "exit");
	for (const change of [{ pid: child.pid }, { started: "another time" }]) {
		const { agentDir, folder } = await changedMark(change);
		expect(await markedSessions(agentDir)).toEqual(new Map());
		expect(readdirSync(folder)).toEqual([]);
	}
});

test("marks of another machine do not count, and are evicted after a month", async () => {
	const { agentDir, folder, path } = await changedMark({ host: "another" });
	expect(await markedSessions(agentDir)).toEqual(new Map());
	expect(readdirSync(folder)).toHaveLength(1);
	utimesSync(path, 0, 0);
	await markedSessions(agentDir);
	expect(readdirSync(folder)).toEqual([]);
});

test("what is no mark does no harm", async () => {
	const { agentDir, folder, path, file } = await changedMark({});
	for (const [at, text] of ["", "{", "null", "[]", '{"pid":-1}', '{"pid":"1"}'].entries()) {
		writeFileSync(join(folder, `${at}.json`), text);
	}
	mkdirSync(join(folder, "folder.json"));
	symlinkSync(path, join(folder, "link.json"));
	expect(await markedSessions(agentDir)).toEqual(new Map([[file, process.pid]]));
});

test("a folder that cannot be written does no harm", async () => {
	const { agentDir, file } = folders();
	writeFileSync(join(agentDir, "strata"), "a file");
	await markSession(agentDir, file).remove();
	expect(await markedSessions(agentDir)).toEqual(new Map());
});

test("sessions of a demo are among those in terminals while it runs, its folder is there and is the user's", async () => {
	const { agentDir } = folders();
	const demo = folders();
	markSession(demo.agentDir, demo.file);
	const mark = markDemo(agentDir, demo.agentDir);
	await expect.poll(() => runningDemos(agentDir)).toEqual([demo.agentDir]);
	const found = new Map([[demo.file, process.pid]]);
	await expect.poll(() => sessionsInTerminals(agentDir)).toEqual(found);
	expect(await markedSessions(agentDir)).toEqual(new Map());
	const other = (process.getuid?.() ?? 0) + 1;
	vi.spyOn(process, "getuid").mockReturnValue(other);
	expect(await runningDemos(agentDir)).toEqual([]);
	vi.restoreAllMocks();
	rmSync(demo.agentDir, { recursive: true });
	expect(await runningDemos(agentDir)).toEqual([]);
	await mark.remove();
	expect(readdirSync(join(agentDir, "strata", "running-demos"))).toEqual([]);
});
