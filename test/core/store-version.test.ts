import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { temporaryName } from "../../src/core/atomic-file.ts";
import { openStoreFolder } from "../../src/core/store-version.ts";

async function makeFolder(): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), "strata-store-version-"));
	onTestFinished(() => rm(folder, { recursive: true, force: true }));
	return folder;
}
const store = { name: "things", version: 1 };
const versionOf = async (folder: string) =>
	JSON.parse(await readFile(join(folder, "version.json"), "utf8"));

test("a missing folder is set up: private, ignored by git, with a version", async () => {
	const folder = join(await makeFolder(), "a", "store");
	expect(await openStoreFolder({ ...store, folder })).toEqual({ kind: "ready" });
	expect(await versionOf(folder)).toEqual({ store: "things", version: 1 });
	expect(await readFile(join(folder, ".gitignore"), "utf8")).toBe("*\n");
	expect((await readdir(folder)).sort()).toEqual([".gitignore", "version.json"]);
	if (process.platform === "win32") return;
	expect((await stat(folder)).mode & 0o777).toBe(0o700);
	expect((await stat(join(folder, "version.json"))).mode & 0o777).toBe(0o600);
});

test("an empty folder is set up, and made private", async () => {
	const folder = join(await makeFolder(), "store");
	await mkdir(folder, { mode: 0o755 });
	// What a process that is setting up, or crashed over it, has in there.
	await writeFile(join(folder, temporaryName()), "");
	expect(await openStoreFolder({ ...store, folder })).toEqual({ kind: "ready" });
	if (process.platform === "win32") return;
	expect((await stat(folder)).mode & 0o777).toBe(0o700);
});

test("a folder of the same version is left as it is", async () => {
	const folder = join(await makeFolder(), "store");
	await openStoreFolder({ ...store, folder });
	await writeFile(join(folder, "anything"), "");
	await rm(join(folder, ".gitignore"));
	expect(await openStoreFolder({ ...store, folder })).toEqual({ kind: "ready" });
	expect((await readdir(folder)).sort()).toEqual(["anything", "version.json"]);
});

test("a newer store is left alone, and the message says what to do", async () => {
	const folder = await makeFolder();
	await writeFile(join(folder, "version.json"), '{"store":"things","version":3}');
	const opened = await openStoreFolder({ ...store, folder });
	expect(opened).toMatchObject({ kind: "newer", found: 3 });
	const message = opened.kind === "newer" ? opened.message : "";
	for (const part of [folder, "version 3", "up to 1", "Update pi-strata", "strata clean"]) {
		expect(message).toContain(part);
	}
	expect(await readdir(folder)).toEqual(["version.json"]);
	expect(await versionOf(folder)).toEqual({ store: "things", version: 3 });
});

test("an older store is unusable and unchanged", async () => {
	const folder = join(await makeFolder(), "store");
	await openStoreFolder({ ...store, folder });
	const opened = await openStoreFolder({ ...store, folder, version: 2 });
	expect(opened).toMatchObject({
		kind: "unusable",
		message: expect.stringContaining("strata clean"),
	});
	expect(await versionOf(folder)).toEqual({ store: "things", version: 1 });
});

test("a folder with files of others is unusable and unchanged", async () => {
	const folder = await makeFolder();
	await writeFile(join(folder, "thesis\n.doc"), "years of work");
	const opened = await openStoreFolder({ ...store, folder });
	expect(opened).toMatchObject({
		kind: "unusable",
		message: expect.stringContaining('"thesis\\n.doc"'),
	});
	expect(await readdir(folder)).toEqual(["thesis\n.doc"]);
});

test("a folder without a version is taken over if the caller owns all it holds", async () => {
	const folder = await makeFolder();
	await mkdir(join(folder, "objects"));
	const owns = (entry: string) => entry === "objects";
	expect(await openStoreFolder({ ...store, folder, owns })).toEqual({ kind: "ready" });
	expect(await versionOf(folder)).toEqual({ store: "things", version: 1 });
});

test("what systems leave in any folder does not make it somebody else's", async () => {
	const folder = await makeFolder();
	for (const name of [".DS_Store", "Thumbs.db", "desktop.ini"]) {
		await writeFile(join(folder, name), "");
	}
	expect(await openStoreFolder({ ...store, folder })).toEqual({ kind: "ready" });
	expect(await versionOf(folder)).toEqual({ store: "things", version: 1 });
});

test.each([
	"",
	"{",
	"[]",
	"null",
	'{"store":"things"}',
	'{"store":"things","version":"1"}',
	'{"store":"things","version":0.5}',
])(
	"a damaged version file (%j) is replaced where nothing else is at stake, else left",
	async (content) => {
		const folder = await makeFolder();
		await writeFile(join(folder, "version.json"), content);
		await writeFile(join(folder, "unknown"), "");
		expect(await openStoreFolder({ ...store, folder })).toMatchObject({ kind: "unusable" });
		expect(await readFile(join(folder, "version.json"), "utf8")).toBe(content);
		await rm(join(folder, "unknown"));
		expect(await openStoreFolder({ ...store, folder })).toEqual({ kind: "ready" });
		expect(await versionOf(folder)).toEqual({ store: "things", version: 1 });
	},
);

test("the folder of another store, or with a linked or huge version file, is left alone", async () => {
	const other = join(await makeFolder(), "store");
	await openStoreFolder({ folder: other, name: "others", version: 1 });
	expect(await openStoreFolder({ ...store, folder: other })).toMatchObject({ kind: "unusable" });

	const linked = await makeFolder();
	await symlink(join(other, "version.json"), join(linked, "version.json"));
	const asOthers = await openStoreFolder({ folder: linked, name: "others", version: 2 });
	expect(asOthers).toMatchObject({ kind: "unusable" });

	const huge = await makeFolder();
	await writeFile(join(huge, "version.json"), " ".repeat(100_000));
	expect(await openStoreFolder({ ...store, folder: huge })).toMatchObject({ kind: "unusable" });
});

test("a file or a link in place of the folder is unusable, never an exception", async () => {
	const base = await makeFolder();
	const file = join(base, "file");
	await writeFile(file, "");
	const outside = join(base, "outside");
	await mkdir(outside);
	const link = join(base, "link");
	await symlink(outside, link);
	for (const folder of [file, join(file, "below"), link, "a\0b"]) {
		const opened = await openStoreFolder({ ...store, folder });
		expect(opened).toMatchObject({ kind: "unusable", message: expect.stringContaining("things") });
	}
	expect(await readdir(outside)).toEqual([]);
});

test("many may set up the same folder at once", async () => {
	const folder = join(await makeFolder(), "store");
	const all = Array.from({ length: 20 }, () => openStoreFolder({ ...store, folder }));
	for (const opened of await Promise.all(all)) expect(opened).toEqual({ kind: "ready" });
	expect((await readdir(folder)).sort()).toEqual([".gitignore", "version.json"]);
});
