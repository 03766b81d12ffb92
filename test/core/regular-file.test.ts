import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readRegularFile } from "../../src/core/regular-file.ts";

async function makeFolder(): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), "strata-regular-file-"));
	onTestFinished(() => rm(folder, { recursive: true, force: true }));
	return folder;
}

test("a file up to the bound is read whole, a bigger one not at all", async () => {
	const path = join(await makeFolder(), "a.txt");
	await writeFile(path, "12345");
	expect(await readRegularFile(path, 5)).toMatchObject({
		kind: "read",
		bytes: Buffer.from("12345"),
	});
	expect(await readRegularFile(path, 4)).toEqual({ kind: "refused", reason: "too-big" });
});

test("links and folders are refused, and what is not there is missing", async () => {
	const folder = await makeFolder();
	const path = join(folder, "a.txt");
	expect(await readRegularFile(path, 10)).toEqual({ kind: "missing" });
	await writeFile(path, "secret");
	await symlink(path, join(folder, "link"));
	await symlink(join(folder, "nothing"), join(folder, "dangling"));
	await mkdir(join(folder, "folder"));
	for (const name of ["link", "dangling", "folder"]) {
		const read = await readRegularFile(join(folder, name), 10);
		expect(read).toEqual({ kind: "refused", reason: "not-a-file" });
	}
});

test("a pipe without a writer is refused at once", async () => {
	if (process.platform === "win32") return;
	const path = join(await makeFolder(), "pipe");
	execFileSync("mkfifo", [path]);
	expect(await readRegularFile(path, 10)).toEqual({ kind: "refused", reason: "not-a-file" });
});
