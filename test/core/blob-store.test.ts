import { execFile } from "node:child_process";
import {
	chmodSync,
	chownSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { type BlobSettings, blobFolder, createBlobStore } from "../../src/core/blob-store.ts";
import { hashBytes } from "../../src/core/hash.ts";
import { atEnd, removeDir, tempDir } from "../support/temp.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const TEXT = "the whole answer: 日本語 😀\n".repeat(300);

function settings(over: Partial<BlobSettings> = {}): BlobSettings {
	return {
		enabled: true,
		dir: join(tempDir(), "blobs"),
		maxBytes: 1_000_000,
		maxAgeDays: 14,
		...over,
	};
}

function blobsIn(dir: string): string[] {
	return readdirSync(dir).filter((name) => name.endsWith(".txt"));
}

/** What an expression with `store` in it gives in a process of its own. */
async function ofProcess(given: BlobSettings, expression: string, before = ""): Promise<unknown> {
	const module = new URL("../../src/core/blob-store.ts", import.meta.url).href;
	const source = `
		import { setTimeout as sleep } from "node:timers/promises";
		import { createBlobStore } from ${JSON.stringify(module)};
		${before}
		const store = createBlobStore(${JSON.stringify(given)});
		process.stdout.write(JSON.stringify(${expression}));
	`;
	const node = promisify(execFile);
	const { stdout } = await node(process.execPath, ["--input-type=module", "--eval", source]);
	return JSON.parse(stdout);
}

/** The same as a user without root's powers. Where we are root, the folder is given to nobody, who then asks. */
async function ofOrdinaryUser(given: BlobSettings, expression: string): Promise<unknown> {
	if (process.getuid?.() !== 0) return await ofProcess(given, expression);
	chownSync(dirname(given.dir), NOBODY, NOBODY);
	const become = `process.setgroups([]); process.setgid(${NOBODY}); process.setuid(${NOBODY});`;
	return await ofProcess(given, expression, become);
}

const NOBODY = 65_534;

/** An empty folder that an ordinary user can get to: the temp folder may be root's alone. */
function reachableDir(): string {
	if (process.getuid?.() !== 0) return tempDir();
	const isOpen = (path: string): boolean =>
		(statSync(path).mode & 0o001) !== 0 && (path === dirname(path) || isOpen(dirname(path)));
	const place = [tmpdir(), "/var/tmp", "/dev/shm"].find((path) => existsSync(path) && isOpen(path));
	if (place === undefined) throw new Error("no temp folder is open to others than root");
	return dirIn(place);
}

function dirIn(place: string): string {
	const folder = mkdtempSync(join(place, "strata-"));
	atEnd(() => removeDir(folder));
	return folder;
}

/** A folder on another device than the temp folder; where the system has none to offer, any. */
function dirOnOtherDevice(): string {
	const here = statSync(tmpdir()).dev;
	const place = ["/dev/shm", homedir(), process.cwd()].find(
		(path) => existsSync(path) && statSync(path).dev !== here,
	);
	return dirIn(place ?? tmpdir());
}

describe("a text that is kept", () => {
	test("lies under its sha256 as a plain file, and comes back to the letter", async () => {
		const given = settings();
		const store = createBlobStore(given);
		const id = hashBytes(TEXT);
		const path = join(given.dir, `${id}.txt`);
		expect(await store.keep(TEXT)).toEqual({ kind: "kept", blob: { id, path } });
		expect(readFileSync(path, "utf8")).toBe(TEXT);
		expect(await createBlobStore(given).load(id)).toEqual({ kind: "found", text: TEXT });
		expect(await store.stats()).toEqual({ objects: 1, bytes: Buffer.byteLength(TEXT) });
	});

	test("is for the user alone", async () => {
		if (process.platform === "win32") return;
		const given = settings();
		await createBlobStore(given).keep(TEXT);
		expect(statSync(given.dir).mode & 0o777).toBe(0o700);
		expect(statSync(join(given.dir, `${hashBytes(TEXT)}.txt`)).mode & 0o777).toBe(0o600);
	});

	test("twice is one file", async () => {
		const given = settings();
		const store = createBlobStore(given);
		await Promise.all([store.keep(TEXT), store.keep(TEXT), store.keep(TEXT)]);
		expect(blobsIn(given.dir)).toHaveLength(1);
	});

	test("and was changed on the disk is not given out, and deleted", async () => {
		const given = settings();
		const store = createBlobStore(given);
		await store.keep(TEXT);
		const id = hashBytes(TEXT);
		writeFileSync(join(given.dir, `${id}.txt`), "something else");
		expect((await store.load(id)).kind).toBe("failed");
		expect(await store.load(id)).toEqual({ kind: "missing" });
	});

	test("and was deleted by hand is missing, and can be kept again", async () => {
		const given = settings();
		const store = createBlobStore(given);
		await store.keep(TEXT);
		rmSync(join(given.dir, `${hashBytes(TEXT)}.txt`));
		expect(await store.load(hashBytes(TEXT))).toEqual({ kind: "missing" });
		expect((await store.keep(TEXT)).kind).toBe("kept");
		rmSync(given.dir, { recursive: true });
		expect(await store.load(hashBytes(TEXT))).toEqual({ kind: "missing" });
		expect((await store.keep(TEXT)).kind).toBe("kept");
		expect(await store.load(hashBytes(TEXT))).toEqual({ kind: "found", text: TEXT });
	});

	test("may lie on another device than everything else", async () => {
		const given = settings({ dir: join(dirOnOtherDevice(), "blobs") });
		const store = createBlobStore(given, () => Date.now() + 30 * DAY_MS);
		expect((await store.keep(TEXT)).kind).toBe("kept");
		expect(await createBlobStore(given).load(hashBytes(TEXT))).toMatchObject({ text: TEXT });
		expect(await store.sweep()).toMatchObject({ kind: "swept", removedObjects: 1, objects: 0 });
	});

	test("joins the files that an earlier program left in the folder", async () => {
		const given = settings({ dir: tempDir() });
		writeFileSync(join(given.dir, `${hashBytes("old")}.txt`), "old");
		const store = createBlobStore(given);
		expect((await store.keep(TEXT)).kind).toBe("kept");
		expect(await store.load(hashBytes("old"))).toEqual({ kind: "found", text: "old" });
	});
});

describe("a text that cannot be kept", () => {
	test("because the setting is off leaves no folder and says so", async () => {
		const given = settings({ enabled: false });
		expect(await createBlobStore(given).keep(TEXT)).toEqual({
			kind: "not-kept",
			why: "blobs.enabled is false",
		});
		expect(existsSync(given.dir)).toBe(false);
	});

	test("because the folder holds other things says so and touches nothing", async () => {
		const given = settings({ dir: tempDir() });
		writeFileSync(join(given.dir, "photo.jpg"), "x");
		expect(await createBlobStore(given).keep(TEXT)).toMatchObject({
			kind: "not-kept",
			why: expect.stringContaining("photo.jpg"),
		});
		expect(readdirSync(given.dir)).toEqual(["photo.jpg"]);
	});

	test("because there is a file in the folder's place says so", async () => {
		const place = join(tempDir(), "blobs");
		writeFileSync(place, "");
		expect((await createBlobStore(settings({ dir: place })).keep(TEXT)).kind).toBe("not-kept");
	});

	test("because the folder is read-only says so, and what was kept before can still be had", {
		tags: "slow",
	}, async () => {
		if (process.platform === "win32") return; // it knows no such folders
		const given = settings({ dir: join(reachableDir(), "blobs") });
		const kept = await ofOrdinaryUser(given, `await store.keep("first")`);
		expect(kept).toMatchObject({ kind: "kept" });
		for (const folder of [join(given.dir, "tmp"), given.dir]) chmodSync(folder, 0o500);
		atEnd(() => chmodSync(given.dir, 0o700)); // or it could not be removed
		const outcome = await ofOrdinaryUser(
			given,
			`[await store.keep("second"), await store.load("${hashBytes("first")}"), await store.sweep()]`,
		);
		expect(outcome).toEqual([
			{ kind: "not-kept", why: expect.stringContaining("EACCES") },
			{ kind: "found", text: "first" },
			expect.objectContaining({ kind: "swept", objects: 1 }),
		]);
	});

	test("because there is no place for the folder says so", async () => {
		if (process.platform === "win32") return;
		const above = reachableDir();
		const given = settings({ dir: join(above, "blobs") });
		chmodSync(above, 0o555);
		expect(await ofOrdinaryUser(given, `await store.keep("text")`)).toEqual({
			kind: "not-kept",
			why: expect.stringContaining("EACCES: permission denied, mkdir"),
		});
		expect(readdirSync(above)).toEqual([]);
		chmodSync(above, 0o755);
		expect(await ofOrdinaryUser(given, `await store.keep("text")`)).toMatchObject({ kind: "kept" });
	});
});

test("what is no id is missing", async () => {
	const store = createBlobStore(settings());
	for (const id of ["", "../../etc/passwd", "A".repeat(64), hashBytes("never kept")]) {
		expect(await store.load(id)).toEqual({ kind: "missing" });
	}
});

test("a folder that pi-kota left is taken over, with answers of both kinds that it may hold", async () => {
	const given = settings();
	mkdirSync(given.dir);
	writeFileSync(join(given.dir, `${hashBytes(TEXT)}.txt`), TEXT);
	writeFileSync(join(given.dir, `${hashBytes("{}")}.json`), "{}");
	const store = createBlobStore(given);
	expect(await store.load(hashBytes(TEXT))).toEqual({ kind: "found", text: TEXT });
	expect(await store.keep("more")).toMatchObject({ kind: "kept" });
	const other = settings();
	mkdirSync(other.dir);
	writeFileSync(join(other.dir, "notes.json"), "{}");
	expect(await createBlobStore(other).keep("more")).toMatchObject({ kind: "not-kept" });
});

describe("sweeping", () => {
	test("drops what nobody used for maxAgeDays, and a use counts", async () => {
		const given = settings();
		let now = Date.now();
		const store = createBlobStore(given, () => now);
		await store.keep("forgotten");
		await store.keep("used");
		now += 10 * DAY_MS;
		await store.load(hashBytes("used"));
		now += 10 * DAY_MS;
		expect(await store.sweep()).toMatchObject({ removedObjects: 1, objects: 1 });
		expect(await store.load(hashBytes("used"))).toMatchObject({ kind: "found" });
		expect(await store.load(hashBytes("forgotten"))).toEqual({ kind: "missing" });
	});

	test("drops the least recently used above maxBytes", async () => {
		const given = settings({ maxBytes: 2500 });
		const now = Date.now();
		const store = createBlobStore(given, () => now);
		for (const [at, letter] of ["a", "b", "c", "d"].entries()) {
			const kept = await store.keep(letter.repeat(1000));
			if (kept.kind !== "kept") throw new Error(kept.why);
			const usedSeconds = (now - (10 - at) * 60 * 60_000) / 1000;
			utimesSync(kept.blob.path, usedSeconds, usedSeconds);
		}
		await store.sweep();
		expect(blobsIn(given.dir).toSorted()).toEqual(
			["c", "d"].map((letter) => `${hashBytes(letter.repeat(1000))}.txt`).toSorted(),
		);
	});

	test("by two processes at once, while a third goes on using the same texts, loses none that is used", {
		tags: "slow",
	}, async () => {
		const given = settings();
		const texts = Array.from({ length: 300 }, (_, at) => `text ${at}`);
		const store = createBlobStore(given);
		const longAgo = (Date.now() - 20 * DAY_MS) / 1000;
		for (const text of texts) {
			const kept = await store.keep(text);
			if (kept.kind === "kept") utimesSync(kept.blob.path, longAgo, longAgo);
		}
		const used = texts.slice(0, 100);
		// They start at the same moment, not as soon as each is up.
		const together = `await sleep(${Date.now() + 1500} - Date.now())`;
		const [using, ...sweeps] = await Promise.all([
			ofProcess(
				given,
				`(${together}, (await Promise.all(${JSON.stringify(used)}.map((text) => store.keep(text)))).length)`,
			),
			ofProcess(given, `(${together}, await store.sweep())`),
			ofProcess(given, `(${together}, await store.sweep())`),
		]);
		expect(using).toBe(100);
		expect(sweeps).toMatchObject([{ kind: "swept" }, { kind: "swept" }]);
		for (const text of used) {
			expect(await store.load(hashBytes(text))).toEqual({ kind: "found", text });
		}
		// What nobody used is gone, and nothing is left lying about.
		expect(blobsIn(given.dir)).toHaveLength(100);
		expect(readdirSync(join(given.dir, "tmp"))).toEqual([]);
	});

	test("of a folder that was never made does not make it", async () => {
		const given = settings();
		await createBlobStore(given).sweep();
		expect(existsSync(given.dir)).toBe(false);
	});
});

describe("what is in the folder", () => {
	test("is listed newest first, at most as many as asked for, without what others put there", async () => {
		const given = settings();
		const store = createBlobStore(given);
		const now = Date.now();
		const ages = { old: 3, newest: 1, newer: 2 };
		for (const [text, hours] of Object.entries(ages)) {
			const kept = await store.keep(text);
			if (kept.kind !== "kept") throw new Error(kept.why);
			const usedSeconds = (now - hours * 60 * 60_000) / 1000;
			utimesSync(kept.blob.path, usedSeconds, usedSeconds);
		}
		writeFileSync(join(given.dir, "notes.txt"), "not ours");
		const id = hashBytes("newest");
		expect(await store.latest(2)).toMatchObject([
			{ id, path: join(given.dir, `${id}.txt`), bytes: 6 },
			{ id: hashBytes("newer") },
		]);
		expect(await store.latest(10)).toHaveLength(3);
		const [newest] = await store.latest(1);
		expect(now - (newest?.usedMs ?? 0)).toBeCloseTo(60 * 60_000, -1);
	});

	test("is none where nothing was ever kept, and nothing is made by looking", async () => {
		const given = settings();
		expect(await createBlobStore(given).latest(5)).toEqual([]);
		expect(existsSync(given.dir)).toBe(false);
	});

	test("is known by its path, and nothing else is", async () => {
		const given = settings();
		const store = createBlobStore(given);
		const id = hashBytes("a");
		expect(store.idOf(join(given.dir, `${id}.txt`))).toBe(id);
		for (const other of [
			join(given.dir, id),
			join(given.dir, `${id}.md`),
			join(given.dir, `${id.toUpperCase()}.txt`),
			join(given.dir, "inner", `${id}.txt`),
			`${id}.txt`,
			`file://${join(given.dir, `${id}.txt`)}`,
		]) {
			expect(store.idOf(other), other).toBeUndefined();
		}
	});

	test("is deleted altogether, also what was used just now, but not what others put there", async () => {
		const given = settings();
		const store = createBlobStore(given);
		for (const text of ["a", "b"]) await store.keep(text);
		writeFileSync(join(given.dir, "notes.txt"), "not ours");
		expect(await store.clear()).toMatchObject({ kind: "swept", removedObjects: 2, objects: 0 });
		expect(await store.stats()).toEqual({ objects: 0, bytes: 0 });
		expect(existsSync(join(given.dir, "notes.txt"))).toBe(true);
		expect((await store.keep("a")).kind).toBe("kept");
	});
});

test("the folder's ~ is the home folder, and so is the start of a relative one", () => {
	expect(blobFolder({ dir: "~/.pi/cache/pi-kota/blobs" })).toBe(
		join(homedir(), ".pi", "cache", "pi-kota", "blobs"),
	);
	expect(blobFolder({ dir: "blobs" })).toBe(join(homedir(), "blobs"));
});
