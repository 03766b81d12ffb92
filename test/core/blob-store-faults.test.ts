/** A disk that fails while a text is written: full, or not to be renamed within. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createBlobStore } from "../../src/core/blob-store.ts";
import { hashBytes } from "../../src/core/hash.ts";
import { tempDir } from "../support/temp.ts";

/** What the disk does instead of its work, by the name of the function; files of the folder's setup are not affected. */
const faults = vi.hoisted(() => ({ writeFile: "", rename: "" }));

vi.mock("node:fs/promises", async (original) => {
	const disk = await original<typeof import("node:fs/promises")>();
	const fail = (code: string) => Promise.reject(Object.assign(new Error(`${code}: oh`), { code }));
	return {
		...disk,
		async writeFile(path: string, content: Uint8Array, options: object) {
			if (faults.writeFile === "" || content.length < 1000) {
				return disk.writeFile(path, content, options);
			}
			// A full disk takes what it can.
			await disk.writeFile(path, content.subarray(0, 500), options);
			return fail(faults.writeFile);
		},
		rename: (from: string, to: string) =>
			faults.rename === "" ? disk.rename(from, to) : fail(faults.rename),
	};
});

afterEach(() => Object.assign(faults, { writeFile: "", rename: "" }));

const TEXT = "the whole answer\n".repeat(300);

describe.each([
	["full", { writeFile: "ENOSPC" }],
	["over its quota", { writeFile: "EDQUOT" }],
	["failing", { writeFile: "EIO" }],
	["two devices between which nothing can be renamed", { rename: "EXDEV" }],
])("on a disk that is %s", (_, fault) => {
	test("a text is not kept, nothing of it is left, and it can be kept once the disk is mended", async () => {
		const dir = join(tempDir(), "blobs");
		const store = createBlobStore({ enabled: true, dir, maxBytes: 1e6, maxAgeDays: 14 });
		await store.keep("first");
		Object.assign(faults, fault);
		const [code = ""] = Object.values(fault);
		const why = expect.stringContaining(code);
		expect(await store.keep(TEXT)).toEqual({ kind: "not-kept", why });
		expect(await store.load(hashBytes(TEXT))).toEqual({ kind: "missing" });
		expect(readdirSync(join(dir, "tmp"))).toEqual([]);
		expect(await store.sweep()).toMatchObject({ kind: "swept", objects: 1 });

		Object.assign(faults, { writeFile: "", rename: "" });
		expect((await store.keep(TEXT)).kind).toBe("kept");
		expect(await store.load(hashBytes(TEXT))).toEqual({ kind: "found", text: TEXT });
	});

	test("a folder that could not be set up is set up later", async () => {
		const dir = join(tempDir(), "blobs");
		const store = createBlobStore({ enabled: true, dir, maxBytes: 1e6, maxAgeDays: 14 });
		Object.assign(faults, fault);
		expect((await store.keep(TEXT)).kind).toBe("not-kept");
		Object.assign(faults, { writeFile: "", rename: "" });
		expect((await store.keep(TEXT)).kind).toBe("kept");
		expect(existsSync(join(dir, `${hashBytes(TEXT)}.txt`))).toBe(true);
	});
});

test("what cannot be deleted is told with the reason", async () => {
	const dir = join(tempDir(), "blobs");
	const store = createBlobStore({ enabled: true, dir, maxBytes: 1e6, maxAgeDays: 14 });
	await store.keep(TEXT);
	faults.rename = "EROFS";
	expect(await store.clear()).toMatchObject({
		kind: "swept",
		removedObjects: 0,
		objects: 1,
		trouble: expect.stringContaining("EROFS"),
	});
	faults.rename = "";
	const swept = await store.clear();
	expect(swept).toMatchObject({ kind: "swept", removedObjects: 1, objects: 0 });
	expect(swept).not.toHaveProperty("trouble");
});
