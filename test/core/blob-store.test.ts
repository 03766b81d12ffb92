import {
	chmodSync,
	existsSync,
	readdirSync,
	readFileSync,
	statSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { blobFolder, createBlobStore } from "../../src/core/blob-store.ts";
import { hashBytes } from "../../src/core/hash.ts";
import { tempDir } from "../support/temp.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const TEXT = "the whole answer: 日本語 😀\n".repeat(300);

function settings(over: Partial<Parameters<typeof createBlobStore>[0]> = {}) {
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

	test("because the disk refuses says so", async () => {
		if (process.platform === "win32" || process.getuid?.() === 0) return;
		const given = settings();
		const store = createBlobStore(given);
		await store.keep("first");
		chmodSync(join(given.dir, "tmp"), 0o500);
		expect((await store.keep(TEXT)).kind).toBe("not-kept");
	});
});

test("what is no id is missing", async () => {
	const store = createBlobStore(settings());
	for (const id of ["", "../../etc/passwd", "A".repeat(64), hashBytes("never kept")]) {
		expect(await store.load(id)).toEqual({ kind: "missing" });
	}
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

	test("of a folder that was never made does not make it", async () => {
		const given = settings();
		await createBlobStore(given).sweep();
		expect(existsSync(given.dir)).toBe(false);
	});
});

test("the folder's ~ is the home folder, and so is the start of a relative one", () => {
	expect(blobFolder({ dir: "~/.pi/cache/pi-kota/blobs" })).toBe(
		join(homedir(), ".pi", "cache", "pi-kota", "blobs"),
	);
	expect(blobFolder({ dir: "blobs" })).toBe(join(homedir(), "blobs"));
});
