import { mkdir, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { isTemporaryName, temporaryName, writeFileAtomic } from "../../src/core/atomic-file.ts";

async function makeFolder(): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), "strata-atomic-file-"));
	onTestFinished(() => rm(folder, { recursive: true, force: true }));
	return folder;
}

test("a file is created with its folders, for the user only", async () => {
	const path = join(await makeFolder(), "a", "b", "c.json");
	await writeFileAtomic(path, "{}");
	expect(await readFile(path, "utf8")).toBe("{}");
	expect(await readdir(dirname(path))).toEqual(["c.json"]);
	if (process.platform === "win32") return;
	expect((await stat(path)).mode & 0o777).toBe(0o600);
	expect((await stat(dirname(path))).mode & 0o777).toBe(0o700);
	expect((await stat(dirname(dirname(path)))).mode & 0o777).toBe(0o700);
});

test("readers see one of the versions whole while many are written", async () => {
	const path = join(await makeFolder(), "file");
	const versions = ["a", "b", "c", "d"].map((letter) => letter.repeat(200_000));
	await writeFileAtomic(path, versions[0] ?? "");
	const writing = Promise.all(versions.map((version) => writeFileAtomic(path, version)));
	let done = false;
	const written = writing.then(() => {
		done = true;
	});
	while (!done) expect(versions).toContain(await readFile(path, "utf8"));
	await written;
	expect(await readdir(dirname(path))).toEqual(["file"]);
});

test("a failed write says why and leaves no temporary file", async () => {
	const folder = await makeFolder();
	const tmpFolder = await makeFolder();
	const path = join(folder, "taken");
	await mkdir(join(path, "inner"), { recursive: true });
	await expect(writeFileAtomic(path, "x")).rejects.toThrow(/taken/);
	await expect(writeFileAtomic(path, "x", { tmpFolder })).rejects.toThrow(/taken/);
	expect(await readdir(folder)).toEqual(["taken"]);
	expect(await readdir(tmpFolder)).toEqual([]);
});

test("a given folder for temporary files is used and not created", async () => {
	const folder = await makeFolder();
	const tmpFolder = join(folder, "tmp");
	const write = () => writeFileAtomic(join(folder, "x"), "x", { tmpFolder, durable: true });
	await expect(write()).rejects.toMatchObject({ code: "ENOENT" });
	await mkdir(tmpFolder);
	await write();
	expect((await readdir(folder)).sort()).toEqual(["tmp", "x"]);
});

test("only our own temporary files are recognised as such", () => {
	expect(isTemporaryName(temporaryName())).toBe(true);
	for (const name of ["notes.tmp", "strata-.tmp", `${temporaryName()}.bak`]) {
		expect(isTemporaryName(name)).toBe(false);
	}
});
