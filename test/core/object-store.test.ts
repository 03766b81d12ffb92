import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { lutimesSync, rmSync } from "node:fs";
import {
	appendFile,
	lstat,
	lutimes,
	mkdir,
	mkdtemp,
	readdir,
	readFile,
	rm,
	stat,
	symlink,
	truncate,
	writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { temporaryName } from "../../src/core/atomic-file.ts";
import { type Hash, hashBytes } from "../../src/core/hash.ts";
import { ObjectStore, type ObjectStoreOptions } from "../../src/core/object-store.ts";
import { fc, runs } from "../support/property.ts";

const minutes = 60_000;
const days = 24 * 60 * minutes;

type Setup = Partial<ObjectStoreOptions>;

async function makeStore(setup: Setup = {}) {
	const base = await mkdtemp(join(tmpdir(), "strata-object-store-"));
	onTestFinished(() => rm(base, { recursive: true, force: true }));
	const folder = join(base, "store");
	const options = {
		folder,
		name: "things",
		version: 1,
		maxBytes: 1_000_000,
		maxAgeMs: 14 * days,
		...setup,
	};
	const pathOf = (hash: Hash) => join(folder, "objects", `sha256-${hash}.txt`);
	return { base, folder, options, pathOf, store: new ObjectStore(options) };
}

/** Sets when an object was last used, counted back from now. */
async function age(path: string, ageMs: number) {
	const seconds = (Date.now() - ageMs) / 1000;
	await lutimes(path, seconds, seconds);
}

const ageOf = async (path: string) => Date.now() - (await lstat(path)).mtimeMs;
const text = (content: string) => Buffer.from(content);

test("whatever bytes are put are got back", async () => {
	const { store } = await makeStore();
	await fc.assert(
		fc.asyncProperty(fc.uint8Array({ maxLength: 5000 }), async (bytes) => {
			const { kind, hash } = await store.put(bytes);
			expect(["stored", "present"]).toContain(kind);
			expect(hash).toBe(hashBytes(bytes));
			expect(await store.get(hash)).toEqual({ kind: "found", bytes: Buffer.from(bytes) });
		}),
		{ numRuns: runs(50) },
	);
});

test("the empty object is an object", async () => {
	const { store } = await makeStore();
	const { hash } = await store.put(text(""));
	expect(await store.get(hash)).toEqual({ kind: "found", bytes: text("") });
	expect(await store.stats()).toEqual({ objects: 1, bytes: 0 });
});

test("an object is kept raw under its hash, for the user only", async () => {
	const { store, folder, pathOf } = await makeStore();
	const bytes = text("\uFEFFa\r\nb");
	const hash = hashBytes(bytes);
	expect(await store.put(bytes, hash)).toEqual({ kind: "stored", hash });
	expect(await readFile(pathOf(hash))).toEqual(bytes);
	expect((await readdir(folder)).sort()).toEqual([".gitignore", "objects", "tmp", "version.json"]);
	expect(await readdir(join(folder, "tmp"))).toEqual([]);
	if (process.platform === "win32") return;
	expect((await stat(pathOf(hash))).mode & 0o777).toBe(0o600);
	for (const one of [folder, join(folder, "objects"), join(folder, "tmp")]) {
		expect((await stat(one)).mode & 0o777).toBe(0o700);
	}
});

test("an object put twice is written once", async () => {
	const { store, pathOf } = await makeStore();
	const { hash } = await store.put(text("a"));
	const { ino } = await stat(pathOf(hash));
	expect(await store.put(text("a"))).toEqual({ kind: "present", hash });
	expect((await stat(pathOf(hash))).ino).toBe(ino);
});

test("making a store, and looking into one never written to, leaves the disk alone", async () => {
	const { store, base } = await makeStore();
	expect(await store.get(hashBytes("a"))).toEqual({ kind: "missing" });
	expect(await store.stats()).toEqual({ objects: 0, bytes: 0 });
	expect(await store.sweep()).toMatchObject({ kind: "swept", removedObjects: 0 });
	expect(await readdir(base)).toEqual([]);
});

test("an object never stored, and a name that is no hash, are missing", async () => {
	const { store, base } = await makeStore({ fileName: (hash) => `${hash}.txt` });
	await store.put(text("a"));
	await writeFile(join(base, "secret.txt"), "s");
	expect(await store.get(hashBytes("b"))).toEqual({ kind: "missing" });
	expect(await store.get("../secret" as Hash)).toEqual({ kind: "missing" });
	expect(await readdir(base)).toContain("secret.txt");
});

test("a tampered object is not served, and deleted", async () => {
	const { store, pathOf } = await makeStore();
	const { hash } = await store.put(text("right"));
	await writeFile(pathOf(hash), "wrong");
	expect(await store.get(hash)).toMatchObject({ kind: "failed", reason: "corrupt" });
	expect(await store.get(hash)).toEqual({ kind: "missing" });
	expect(await store.put(text("right"))).toEqual({ kind: "stored", hash });
	expect(await store.get(hash)).toMatchObject({ kind: "found" });
});

test("a truncated object is not served, and a put mends it", async () => {
	const { store, pathOf } = await makeStore();
	const { hash } = await store.put(text("all of it"));
	await truncate(pathOf(hash), 3);
	expect(await store.put(text("all of it"))).toEqual({ kind: "stored", hash });
	expect(await store.get(hash)).toMatchObject({ kind: "found" });
	await truncate(pathOf(hash), 0);
	expect(await store.get(hash)).toMatchObject({ kind: "failed", reason: "corrupt" });
});

test("a link in place of an object is refused even if it leads to the right bytes", async () => {
	const { store, base, pathOf } = await makeStore();
	const { hash } = await store.put(text("a"));
	const outside = join(base, "outside");
	await writeFile(outside, "a");
	await rm(pathOf(hash));
	await symlink(outside, pathOf(hash));
	expect(await store.get(hash)).toMatchObject({ kind: "failed", reason: "not-a-file" });
	expect(await store.put(text("a"))).toEqual({ kind: "stored", hash });
	expect((await lstat(pathOf(hash))).isFile()).toBe(true);
	expect(await readFile(outside, "utf8")).toBe("a");
});

test("a folder in place of an object is a result for get and put", async () => {
	const { store, folder, pathOf } = await makeStore();
	const hash = hashBytes("a");
	await store.put(text("other"));
	await mkdir(join(pathOf(hash), "inner"), { recursive: true });
	expect(await store.get(hash)).toMatchObject({ kind: "failed", reason: "not-a-file" });
	expect(await store.put(text("a"))).toMatchObject({ kind: "failed", reason: "io", hash });
	expect(await readdir(join(folder, "tmp"))).toEqual([]);
});

test("an object over the bound is neither stored nor loaded", async () => {
	const { store, options } = await makeStore();
	const { hash } = await store.put(text("12345"));
	const small = new ObjectStore({ ...options, maxObjectBytes: 4 });
	expect(await small.get(hash)).toMatchObject({ kind: "failed", reason: "too-big" });
	expect(await small.put(text("54321"))).toMatchObject({ kind: "failed", reason: "too-big" });
	expect(await store.get(hash)).toMatchObject({ kind: "found" });
});

test("processes that put the same objects at once all succeed", { tags: "slow" }, async () => {
	const { options, store, folder } = await makeStore();
	const module = new URL("../../src/core/object-store.ts", import.meta.url).href;
	const script = `
		import { ObjectStore } from ${JSON.stringify(module)};
		const store = new ObjectStore(${JSON.stringify(options)});
		const results = [];
		for (let n = 0; n < 40; n++) results.push(store.put(Buffer.alloc(50_000, n)));
		const kinds = (await Promise.all(results)).map((result) => result.kind);
		const found = [];
		for (const { hash } of await Promise.all(results)) found.push((await store.get(hash)).kind);
		console.log(JSON.stringify({ kinds, found }));
	`;
	const run = promisify(execFile);
	const processes = Array.from({ length: 4 }, () =>
		run(process.execPath, ["--input-type=module", "--eval", script]),
	);
	for (const { stdout } of await Promise.all(processes)) {
		const { kinds, found } = JSON.parse(stdout);
		expect(kinds.filter((kind: string) => kind !== "stored" && kind !== "present")).toEqual([]);
		expect(found).toEqual(Array(40).fill("found"));
	}
	expect(await store.stats()).toEqual({ objects: 40, bytes: 40 * 50_000 });
	expect(await readdir(join(folder, "tmp"))).toEqual([]);
});

test("a file in place of the folder makes an empty store that says so", async () => {
	const { store, folder } = await makeStore();
	await writeFile(folder, "");
	const put = await store.put(text("a"));
	expect(put).toMatchObject({ kind: "failed", reason: "unusable" });
	expect(put).toMatchObject({ message: expect.stringContaining(folder) });
	expect(await store.get(hashBytes("a"))).toMatchObject({ kind: "failed", reason: "unusable" });
	expect(await store.sweep()).toMatchObject({ kind: "failed", reason: "unusable" });
	expect(await store.stats()).toEqual({
		objects: 0,
		bytes: 0,
		fault: expect.objectContaining({ reason: "unusable" }),
	});
	await rm(folder);
	expect(await store.put(text("a"))).toMatchObject({ kind: "stored" });
});

test("a file in place of the objects folder is a result too", async () => {
	const { store, folder, options } = await makeStore();
	await store.put(text("a"));
	await rm(join(folder, "objects"), { recursive: true });
	await writeFile(join(folder, "objects"), "");
	for (const one of [store, new ObjectStore(options)]) {
		expect(await one.put(text("b"))).toMatchObject({ kind: "failed" });
		expect(await one.get(hashBytes("a"))).toMatchObject({ kind: "failed" });
		expect(await one.sweep()).toMatchObject({ kind: "failed" });
		const fault = expect.objectContaining({ kind: "failed" });
		expect(await one.stats()).toEqual({ objects: 0, bytes: 0, fault });
	}
});

test("a linked folder, or one that holds links for folders, is not written through", async () => {
	const { store, base, folder } = await makeStore();
	const outside = join(base, "outside");
	await mkdir(outside);
	await symlink(outside, folder);
	expect(await store.put(text("a"))).toMatchObject({ kind: "failed", reason: "unusable" });
	await rm(folder);
	for (const inner of ["objects", "tmp"]) {
		await mkdir(folder);
		await symlink(outside, join(folder, inner));
		expect(await store.put(text("a"))).toMatchObject({ kind: "failed", reason: "unusable" });
		await rm(folder, { recursive: true });
	}
	expect(await readdir(outside)).toEqual([]);
});

test("a newer store is left alone and acts as an empty one", async () => {
	const { store, folder } = await makeStore();
	await mkdir(folder);
	await writeFile(join(folder, "version.json"), '{"store":"things","version":2}');
	expect(await store.put(text("a"))).toMatchObject({ kind: "failed", reason: "newer" });
	expect(await store.get(hashBytes("a"))).toMatchObject({ kind: "failed", reason: "newer" });
	expect(await store.sweep()).toMatchObject({ kind: "failed", reason: "newer" });
	const fault = expect.objectContaining({ reason: "newer" });
	expect(await store.stats()).toEqual({ objects: 0, bytes: 0, fault });
	expect(await readdir(folder)).toEqual(["version.json"]);
});

test("a store that another program filled without a version is taken over", async () => {
	const { store, folder, pathOf } = await makeStore();
	await mkdir(join(folder, "objects"), { recursive: true });
	await mkdir(join(folder, "tmp"));
	await writeFile(pathOf(hashBytes("a")), "a");
	expect(await store.get(hashBytes("a"))).toMatchObject({ kind: "found" });
	expect(await readFile(join(folder, ".gitignore"), "utf8")).toBe("*\n");
});

test("a store whose folder is removed under it is set up again by the next put", async () => {
	const { store, folder } = await makeStore();
	await store.put(text("a"));
	await rm(folder, { recursive: true });
	expect(await store.get(hashBytes("a"))).toEqual({ kind: "missing" });
	expect(await store.sweep()).toMatchObject({ kind: "swept", objects: 0 });
	expect(await store.put(text("a"))).toMatchObject({ kind: "stored" });
	expect((await readdir(folder)).sort()).toEqual([".gitignore", "objects", "tmp", "version.json"]);
});

test("a get or a repeated put counts as a use, at most every five minutes", async () => {
	const { store, pathOf } = await makeStore();
	const { hash } = await store.put(text("a"));
	const path = pathOf(hash);
	for (const use of [() => store.get(hash), () => store.put(text("a"))]) {
		await age(path, 6 * minutes);
		await use();
		expect(await ageOf(path)).toBeLessThan(1 * minutes);
		await age(path, 4 * minutes);
		await use();
		expect(await ageOf(path)).toBeGreaterThan(3 * minutes);
		await age(path, -60 * minutes);
		await use();
		expect(await ageOf(path)).toBeGreaterThan(-1 * minutes);
	}
});

test("a sweep removes what was not used for too long", async () => {
	const { store, pathOf } = await makeStore({ maxAgeMs: 2 * days });
	const old = await store.put(text("old"));
	const used = await store.put(text("used"));
	const young = await store.put(text("young"));
	await age(pathOf(old.hash), 3 * days);
	await age(pathOf(used.hash), 3 * days);
	await age(pathOf(young.hash), 1 * days);
	await store.get(used.hash);
	expect(await store.sweep()).toEqual({
		kind: "swept",
		removedObjects: 1,
		removedBytes: 3,
		removedTemporary: 0,
		objects: 2,
		bytes: 9,
	});
	expect(await store.get(old.hash)).toEqual({ kind: "missing" });
	expect(await store.stats()).toEqual({ objects: 2, bytes: 9 });
});

test("time passing on the clock ages objects", async () => {
	let nowMs = Date.now();
	const { store } = await makeStore({ now: () => nowMs });
	const { hash } = await store.put(text("a"));
	nowMs += 13 * days;
	expect(await store.get(hash)).toMatchObject({ kind: "found" });
	nowMs += 13 * days;
	expect(await store.sweep()).toMatchObject({ removedObjects: 0 });
	nowMs += 2 * days;
	expect(await store.sweep()).toMatchObject({ removedObjects: 1, objects: 0 });
});

test("a sweep removes the least recently used until the rest fits", async () => {
	const { store, pathOf } = await makeStore({ maxBytes: 25_000 });
	const hashes: Hash[] = [];
	for (let n = 0; n < 5; n++) {
		const { hash } = await store.put(randomBytes(10_000));
		hashes.push(hash);
		await age(pathOf(hash), (5 - n) * 60 * minutes);
	}
	await store.get(hashes[0] as Hash);
	expect(await store.sweep()).toMatchObject({ removedObjects: 3, objects: 2, bytes: 20_000 });
	const kinds = await Promise.all(hashes.map(async (hash) => (await store.get(hash)).kind));
	expect(kinds).toEqual(["found", "missing", "missing", "missing", "found"]);
});

test("a sweep spares what was just put until there is twice too much", async () => {
	const { store } = await makeStore({ maxBytes: 10_000 });
	await store.put(randomBytes(10_000));
	await store.put(randomBytes(10_000));
	expect(await store.sweep()).toMatchObject({ removedObjects: 0, bytes: 20_000 });
	await store.put(randomBytes(10_000));
	expect(await store.sweep()).toMatchObject({ removedObjects: 1, bytes: 20_000 });
});

test("objects dated ahead of the clock count as used when a sweep finds them, and age from then on", async () => {
	let nowMs = Date.now();
	const { store, folder, pathOf } = await makeStore({ maxBytes: 10_000, now: () => nowMs });
	for (let n = 0; n < 4; n++) {
		const { hash } = await store.put(randomBytes(5000));
		await age(pathOf(hash), -400 * days);
	}
	const temporary = join(folder, "tmp", temporaryName());
	await writeFile(temporary, "half an obj");
	await age(temporary, -400 * days);
	expect(await store.sweep()).toMatchObject({ removedTemporary: 1, bytes: 20_000 });
	nowMs += 11 * minutes;
	expect(await store.sweep()).toMatchObject({ removedObjects: 2, bytes: 10_000 });
	nowMs += 30 * days;
	expect(await store.sweep()).toMatchObject({ removedObjects: 2, bytes: 0 });
});

test("a sweep removes stale temporary files and no fresh ones", async () => {
	const { store, folder } = await makeStore();
	await store.put(text("a"));
	const temporary = () => join(folder, "tmp", temporaryName());
	const [stale, fresh] = [temporary(), temporary()];
	await writeFile(stale, "half an obj");
	await writeFile(fresh, "half an obj");
	await age(stale, 61 * minutes);
	await age(fresh, 59 * minutes);
	expect(await store.sweep()).toMatchObject({ removedTemporary: 1, removedObjects: 0 });
	expect(await readdir(join(folder, "tmp"))).toEqual([fresh.slice(join(folder, "tmp/").length)]);
});

test("a sweep leaves alone and does not count what is not the store's", async () => {
	const { store, folder, pathOf } = await makeStore({ maxBytes: 0 });
	const { hash } = await store.put(text("a"));
	await age(pathOf(hash), 20 * days);
	const strangers = ["notes.txt", `sha256-${hash}.json`, `${hash}.txt`, `x-sha256-${hash}.txt`];
	for (const name of strangers) {
		for (const inner of ["objects", "tmp"]) {
			await writeFile(join(folder, inner, name), "mine");
			await age(join(folder, inner, name), 20 * days);
		}
	}
	const link = pathOf(hashBytes("link"));
	await symlink(join(folder, "version.json"), link);
	await age(link, 20 * days);
	expect(await store.sweep()).toMatchObject({ removedObjects: 1, objects: 0, bytes: 0 });
	expect(await readdir(join(folder, "objects"))).toHaveLength(strangers.length + 1);
	expect(await readdir(join(folder, "tmp"))).toHaveLength(strangers.length);
});

test("sweeps at the same time share the work without trouble", async () => {
	const { store, options, pathOf } = await makeStore();
	for (let n = 0; n < 50; n++) {
		const { hash } = await store.put(text(`object ${n}`));
		await age(pathOf(hash), 20 * days);
	}
	const stores = [store, new ObjectStore(options), new ObjectStore(options)];
	const sweeps = await Promise.all(stores.map((one) => one.sweep()));
	let removed = 0;
	for (const swept of sweeps) {
		expect(swept).toMatchObject({ kind: "swept" });
		// What one has moved aside, another may take for the remains of a crash.
		if (swept.kind === "swept") removed += swept.removedObjects + swept.removedTemporary;
	}
	expect(removed).toBe(50);
	expect(await store.stats()).toEqual({ objects: 0, bytes: 0 });
});

test("an object used after a sweep has listed it stays", async () => {
	let beforeChoosing = () => {};
	const now = () => {
		beforeChoosing();
		return Date.now();
	};
	const { store, folder, pathOf } = await makeStore({ now });
	const { hash } = await store.put(text("a"));
	await age(pathOf(hash), 20 * days);
	beforeChoosing = () => lutimesSync(pathOf(hash), new Date(), new Date());
	expect(await store.sweep()).toMatchObject({ removedObjects: 0, objects: 1 });
	expect(await store.get(hash)).toMatchObject({ kind: "found" });
	expect(await readdir(join(folder, "tmp"))).toEqual([]);
});

test("an object swept just as a put finds it is written again", async () => {
	let beforeCounting = () => {};
	const now = () => {
		beforeCounting();
		return Date.now();
	};
	const { store, pathOf } = await makeStore({ now });
	const { hash } = await store.put(text("a"));
	await age(pathOf(hash), 20 * days);
	beforeCounting = () => rmSync(pathOf(hash));
	expect(await store.put(text("a"))).toEqual({ kind: "stored", hash });
});

test("objects put while old ones are swept are there afterwards", async () => {
	const { store, options, pathOf } = await makeStore();
	const contents = Array.from({ length: 100 }, (_, n) => text(`object ${n}`));
	for (const content of contents) {
		const { hash } = await store.put(content);
		await age(pathOf(hash), 20 * days);
	}
	const putAll = async () => {
		for (const content of contents.toReversed()) await store.put(content);
	};
	await Promise.all([store.sweep(), new ObjectStore(options).sweep(), putAll(), putAll()]);
	expect(await store.stats()).toMatchObject({ objects: 100 });
});

test("objects may lie in the store's own folder under other names", async () => {
	const fileName = (hash: Hash) => `${hash}.json`;
	const { store, folder, options } = await makeStore({ fileName });
	const { hash } = await store.put(text("{}"));
	expect(await readFile(join(folder, `${hash}.json`), "utf8")).toBe("{}");
	await age(join(folder, `${hash}.json`), 20 * days);
	await rm(join(folder, "version.json"));
	const again = new ObjectStore(options);
	expect(await again.stats()).toEqual({ objects: 1, bytes: 2 });
	expect(await again.sweep()).toMatchObject({ removedObjects: 1, objects: 0 });
	expect((await readdir(folder)).sort()).toEqual([".gitignore", "tmp", "version.json"]);
});

test("an object that grows while it is stored elsewhere is noticed", async () => {
	const { store, pathOf } = await makeStore();
	const { hash } = await store.put(text("a"));
	await appendFile(pathOf(hash), "b");
	expect(await store.get(hash)).toMatchObject({ kind: "failed", reason: "corrupt" });
});
