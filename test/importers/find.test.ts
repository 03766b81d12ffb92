import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import * as promises from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { findSessionFiles, findSessions, inOrderOfStart } from "../../src/importers/find.ts";
import { tempDir } from "../support/temp.ts";

vi.mock("node:fs/promises", { spy: true });

function folderOf(...paths: string[]): string {
	const folder = tempDir();
	for (const path of paths) {
		mkdirSync(join(folder, path, ".."), { recursive: true });
		writeFileSync(join(folder, path), "");
	}
	return folder;
}

test("session files are found below a folder, by name", async () => {
	const others = ["one/note.txt", "one/agent-1.meta.json", "1/2/3/4/5/6/deep.jsonl"];
	const folder = folderOf("b.jsonl", "one/a.jsonl", ...others);
	expect(await findSessionFiles(folder)).toEqual({
		files: [join(folder, "b.jsonl"), join(folder, "one/a.jsonl")],
		unreadable: [],
	});
});

test("a folder that cannot be read is named, and the others are read", async () => {
	const folder = folderOf("closed/a.jsonl", "open/b.jsonl");
	const closed = join(folder, "closed");
	const readdir = promises.readdir;
	const refused = Object.assign(new Error("EACCES: permission denied"), { code: "EACCES" });
	const real = (await vi.importActual<typeof promises>("node:fs/promises")).readdir;
	vi.mocked(readdir).mockImplementation(((at: string, options: never) =>
		at === closed ? Promise.reject(refused) : real(at, options)) as never);
	const { files, unreadable } = await findSessionFiles(folder);
	expect(files).toEqual([join(folder, "open/b.jsonl")]);
	expect(unreadable).toEqual([{ file: closed, reason: expect.stringContaining("permission") }]);
	await expect(findSessionFiles(closed)).rejects.toThrow("EACCES");
});

test("files of all agents are found: lines, documents and databases", async () => {
	const folder = folderOf("a.jsonl", "b.json", "c.db", "d.db-wal", "e.md");
	const { files } = await findSessionFiles(folder);
	expect(files).toEqual(["a.jsonl", "b.json", "c.db"].map((name) => join(folder, name)));
});

test("of the older opencode's storage only the sessions are files of their own", async () => {
	const folder = folderOf(
		"storage/session/p1/ses_1.json",
		"storage/message/ses_1/msg_1.json",
		"storage/part/msg_1/prt_1.json",
		"storage/todo/ses_1.json",
	);
	const { files } = await findSessionFiles(folder);
	expect(files).toEqual([join(folder, "storage/session/p1/ses_1.json")]);
});

test("files are put in the order in which their sessions began", async () => {
	const folder = tempDir();
	const write = (name: string, text: string) => {
		writeFileSync(join(folder, name), text);
		return join(folder, name);
	};
	const files = [
		write("c.jsonl", '{"type":"session","timestamp":"2026-03-01T00:00:00Z"}'),
		write("b.json", `{"info":{"time":{"created":${Date.UTC(2026, 1, 1)}}}}`),
		write("a.json", '{\n  "sessionId": "s",\n  "startTime": "2026-01-01T00:00:00Z"\n}'),
		write("unknown.db", "SQLite"),
		join(folder, "missing.jsonl"),
	];
	const names = inOrderOfStart(files).map((file) => basename(file));
	expect(names).toEqual(["unknown.db", "missing.jsonl", "a.json", "b.json", "c.jsonl"]);
});

describe("sessions of this user", () => {
	const CWD = '{"timestamp":"2026-01-01T00:00:00Z","payload":{"cwd":"/w/a \\"b\\""}}\n';
	const PLACES: Record<string, [string, string]> = {
		pi: ["PI_CODING_AGENT_DIR/sessions/--p--/a.jsonl", ".pi/agent"],
		"claude-code": ["CLAUDE_CONFIG_DIR/projects/p/s/subagents/agent-1.jsonl", ".claude"],
		codex: ["CODEX_HOME/sessions/2026/01/01/rollout-a.jsonl", ".codex"],
		opencode: ["XDG_DATA_HOME/opencode/opencode.db", ".local/share"],
	};

	function write(home: string, path: string): void {
		mkdirSync(join(home, path, ".."), { recursive: true });
		writeFileSync(join(home, path), CWD);
	}

	test.each([true, false])("are found where agents keep them; by variables: %s", async (named) => {
		const home = tempDir();
		const env: NodeJS.ProcessEnv = { HOME: home };
		for (const [path, usual] of Object.values(PLACES)) {
			const [variable = "", ...rest] = path.split("/");
			if (named) env[variable] = join(home, variable);
			write(home, join(named ? variable : usual, ...rest));
		}
		const found = await findSessions(env);
		expect(found.map(({ agent }) => agent).sort()).toEqual(Object.keys(PLACES).sort());
		for (const one of found) {
			expect(one).toMatchObject({ project: '/w/a "b"', bytes: CWD.length });
		}
	});

	test("of Gemini CLI, OpenClaw and archives are found too, the newest first, and nothing else", async () => {
		const home = tempDir();
		const paths = [
			".codex/archived_sessions/rollout-b.jsonl",
			".gemini/tmp/h1/chats/session-a.json",
			".openclaw/agents/main/sessions/s.jsonl",
		];
		for (const [at, path] of paths.entries()) {
			write(home, path);
			utimesSync(join(home, path), at, at);
		}
		writeFileSync(join(home, ".gemini/tmp/h1/.project_root"), "/w/of gemini\n");
		writeFileSync(join(home, paths[1] ?? ""), "{}");
		utimesSync(join(home, paths[1] ?? ""), 1, 1);
		for (const path of [".gemini/tmp/h1/logs.json", ".local/share/opencode/auth.json"]) {
			write(home, path);
		}
		const found = await findSessions({ HOME: home });
		expect(found.map(({ agent }) => agent)).toEqual(["openclaw", "gemini-cli", "codex"]);
		expect(found[1]?.project).toBe("/w/of gemini");
	});

	test("are none where no agent was used", async () => {
		expect(await findSessions({ HOME: tempDir() })).toEqual([]);
	});
});
