import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test, vi } from "vitest";
import { checkSessionFile } from "../../../src/server/sessions/stored-sessions.ts";
import { tempDir } from "../../support/temp.ts";

// Node's own algorithm does not know the long form of a short name (Windows), the system's does. A link stands for it.
vi.mock("node:fs", async (original) => ({
	...(await original<typeof import("node:fs")>()),
	realpathSync: (path: string) => resolve(path),
}));

test("a session file is found in a folder that has another name for the system", async () => {
	const root = tempDir();
	const folder = join(root, "long-name", "sessions", "project");
	mkdirSync(folder, { recursive: true });
	symlinkSync(join(root, "long-name"), join(root, "LONG~1"), "junction");
	const header = { type: "session", id: "one", cwd: root, timestamp: "2026-01-01T00:00:00.000Z" };
	writeFileSync(join(folder, "one.jsonl"), `${JSON.stringify(header)}\n`);
	const given = join(root, "LONG~1", "sessions", "project", "one.jsonl");
	const places = { agentDir: join(root, "LONG~1"), cwd: root };
	const found = await checkSessionFile(given, "sessionPath", places);
	expect(found).toMatchObject({ id: "one", cwd: root });
});
