import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readEntries } from "../../../src/server/sessions/read-only-session.ts";
import { tempDir } from "../../support/temp.ts";

test("a session file is read line by line; damaged lines are counted, nothing else is lost", async () => {
	const path = join(tempDir(), "a.jsonl");
	const entry = (id: string, parentId: string | null) => ({
		type: "message",
		id,
		parentId,
		timestamp: "2026-01-01T00:00:00.000Z",
		message: { role: "user", content: "hello" },
	});
	const lines = [
		JSON.stringify({ type: "session", id: "s", cwd: "/gone" }),
		JSON.stringify(entry("a", null)),
		'{"type":"message","id":"cut',
		"",
		JSON.stringify({ type: "message" }),
		JSON.stringify(entry("b", "a")),
	];
	const text = `${lines.join("\n")}\n`;
	writeFileSync(path, text);
	expect(await readEntries({ path, bytes: text.length })).toEqual({
		entries: [entry("a", null), entry("b", "a")],
		leafId: "b",
		skipped: 2,
		truncated: false,
	});
});
