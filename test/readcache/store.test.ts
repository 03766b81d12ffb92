import { existsSync, lutimesSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { hashBytes } from "../../src/core/hash.ts";
import { readCacheFolder } from "../../src/readcache/index.ts";
import { createReadCacheStore } from "../../src/readcache/store.ts";
import { tempDir } from "../support/temp.ts";
import { SETTINGS } from "./cached-session.ts";

describe("the folder of stored versions", () => {
	const folderFor = (storeDir: string, cwd: string) =>
		readCacheFolder({ ...SETTINGS, storeDir }, cwd);

	test("is .pi/readcache at the root of the repository, else in the working folder", () => {
		const root = tempDir();
		const cwd = join(root, "packages", "one");
		mkdirSync(cwd, { recursive: true });
		expect(folderFor("", cwd)).toBe(join(cwd, ".pi", "readcache"));
		mkdirSync(join(root, ".git"));
		expect(folderFor("", cwd)).toBe(join(root, ".pi", "readcache"));
	});

	test("is where the user wants it, from the root of the repository if it is relative", () => {
		const root = tempDir();
		mkdirSync(join(root, ".git"));
		mkdirSync(join(root, "src"));
		expect(folderFor("/var/cache/reads", join(root, "src"))).toBe("/var/cache/reads");
		expect(folderFor("~/reads", join(root, "src"))).toBe(join(homedir(), "reads"));
		expect(folderFor("../reads", join(root, "src"))).toBe(join(root, "..", "reads"));
	});
});

describe("the store", () => {
	test("touches nothing before its first use, and then names versions as the specification does", async () => {
		const cwd = tempDir();
		const store = createReadCacheStore(SETTINGS, cwd);
		const folder = join(cwd, ".pi", "readcache");
		expect(await store.stats()).toEqual({ objects: 0, bytes: 0 });
		expect(await store.get(hashBytes("text"))).toEqual({ kind: "missing" });
		expect(existsSync(join(cwd, ".pi"))).toBe(false);

		await store.put(Buffer.from("text"));
		expect(readdirSync(join(folder, "objects"))).toEqual([`sha256-${hashBytes("text")}.txt`]);
		expect(readdirSync(folder)).toEqual(
			expect.arrayContaining([".gitignore", "objects", "tmp", "version.json"]),
		);
		if (process.platform !== "win32") expect(statSync(folder).mode & 0o777).toBe(0o700);
	});

	test("keeps no version larger than a file may be", async () => {
		const store = createReadCacheStore({ ...SETTINGS, maxFileBytes: 4 }, tempDir());
		expect(await store.put(Buffer.from("four"))).toMatchObject({ kind: "stored" });
		expect(await store.put(Buffer.from("fives"))).toMatchObject({ reason: "too-big" });
	});

	test("drops what is over its size or its age when it is swept", async () => {
		const day = 24 * 60 * 60 * 1000;
		const settings = { ...SETTINGS, storeMaxAgeDays: 2, storeMaxBytes: 10 };
		const cwd = tempDir();
		const store = createReadCacheStore(settings, cwd);
		const age = async (text: string, days: number) => {
			await store.put(Buffer.from(text));
			const path = join(cwd, ".pi", "readcache", "objects", `sha256-${hashBytes(text)}.txt`);
			const seconds = (Date.now() - days * day) / 1000;
			lutimesSync(path, seconds, seconds);
		};
		await age("old", 2.1);
		await age("eight ch", 1.9);
		await age("six ch", 1);
		expect(await store.sweep()).toMatchObject({ removedObjects: 2, objects: 1, bytes: 6 });
		expect(await store.get(hashBytes("six ch"))).toMatchObject({ kind: "found" });
	});
});
