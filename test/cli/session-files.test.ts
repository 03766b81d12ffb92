import { mkdirSync, writeFileSync } from "node:fs";
import * as promises from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { sessionFilesIn } from "../../src/cli/replay.ts";
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
	const folder = folderOf("b.jsonl", "one/a.jsonl", "one/note.txt", "1/2/3/4/deep.jsonl");
	expect(await sessionFilesIn(folder)).toEqual({
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
	const { files, unreadable } = await sessionFilesIn(folder);
	expect(files).toEqual([join(folder, "open/b.jsonl")]);
	expect(unreadable).toEqual([{ file: closed, reason: expect.stringContaining("permission") }]);
	await expect(sessionFilesIn(closed)).rejects.toThrow("EACCES");
});
