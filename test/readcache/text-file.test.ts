import { execFileSync } from "node:child_process";
import { chmodSync, linkSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { hashBytes } from "../../src/core/hash.ts";
import { firstExisting, readTextFile } from "../../src/readcache/text-file.ts";
import { atEnd, tempDir } from "../support/temp.ts";

const ELIGIBILITY = { maxFileBytes: 100, exclude: [".env*", "*.pem", "secrets/"] };

async function read(path: string, eligibility = ELIGIBILITY) {
	const found = await firstExisting([path]);
	return found ? readTextFile(found, eligibility) : "not found";
}

describe("a text file", () => {
	test.each<[string, string | Buffer]>([
		["plain text", "one\ntwo\n"],
		["nothing at all", ""],
		["a byte order mark and line ends of Windows", "\uFEFFone\r\ntwo\r\n"],
		["characters of every length", "aé漢😀"],
		["control characters", "\u001b[1m\u0007\f"],
	])("is read byte for byte: %s", async (_name, content) => {
		const path = join(tempDir(), "a.txt");
		writeFileSync(path, content);
		const file = await read(path);
		expect(file).toMatchObject({ pathKey: path, hash: hashBytes(content) });
		expect(file).toHaveProperty("lines.bytes", Buffer.from(content));
	});

	test("is known by its real path, through links to it and to its folder", async () => {
		const folder = tempDir();
		mkdirSync(join(folder, "real"));
		writeFileSync(join(folder, "real", "a.txt"), "text");
		symlinkSync(join(folder, "real"), join(folder, "folder"));
		symlinkSync(join("folder", "a.txt"), join(folder, "link"));
		for (const path of ["real/a.txt", "folder/a.txt", "link", "real/../link"]) {
			expect(await read(join(folder, path))).toMatchObject({
				pathKey: join(folder, "real", "a.txt"),
			});
		}
	});
});

describe("what is left to pi", () => {
	test.each<[string, Buffer]>([
		["a NUL byte", Buffer.from("text\0text")],
		["bytes that are no UTF-8", Buffer.from([0x61, 0xff, 0x61])],
		["half a character at the end", Buffer.from("é").subarray(0, 1)],
		["UTF-16", Buffer.from("\uFEFFtext", "utf16le")],
		["a lone surrogate", Buffer.from([0xed, 0xa0, 0x80])],
	])("is not text: %s", async (_name, content) => {
		const path = join(tempDir(), "a.txt");
		writeFileSync(path, content);
		expect(await read(path)).toEqual({ why: "not-text" });
	});

	test("is excluded under the name it was asked for by, and under its real one", async () => {
		const folder = tempDir();
		mkdirSync(join(folder, "secrets"));
		for (const name of [".env.local", "secrets/token", "public.txt"]) {
			writeFileSync(join(folder, name), "text");
		}
		symlinkSync(join(folder, ".env.local"), join(folder, "config.txt"));
		symlinkSync(join(folder, "config.txt"), join(folder, "link-to-link"));
		symlinkSync(join(folder, "secrets"), join(folder, "harmless"));
		symlinkSync(join(folder, "public.txt"), join(folder, "server.pem"));
		const names = ["config.txt", "link-to-link", "harmless/token", "server.pem", ".env.local"];
		for (const name of names) expect(await read(join(folder, name))).toEqual({ why: "excluded" });
		expect(await read(join(folder, "public.txt"))).toHaveProperty("hash");
	});

	test("is excluded without being opened", async () => {
		const path = join(tempDir(), ".env");
		execFileSync("mkfifo", [path]);
		expect(await read(path)).toEqual({ why: "excluded" });
	});

	test("is bigger than the bound, which itself still counts", async () => {
		const path = join(tempDir(), "a.txt");
		writeFileSync(path, "x".repeat(100));
		expect(await read(path)).toHaveProperty("hash");
		writeFileSync(path, "x".repeat(101));
		expect(await read(path)).toEqual({ why: "too-big" });
	});

	test("is huge, and costs no more than a look", async () => {
		const path = join(tempDir(), "huge");
		const file = await open(path, "w");
		await file.truncate(2 ** 40); // a terabyte of nothing
		await file.close();
		expect(await read(path)).toEqual({ why: "too-big" });
	});

	test("is no ordinary file: a pipe, a folder, a device", async () => {
		const folder = tempDir();
		execFileSync("mkfifo", [join(folder, "pipe")]);
		for (const path of [join(folder, "pipe"), folder, "/dev/null", "/dev/zero"]) {
			expect(await read(path)).toEqual({ why: "not-a-file" });
		}
	});

	test("may not be read, or is gone between the look and the reading", async () => {
		const folder = tempDir();
		const path = join(folder, "a.txt");
		writeFileSync(path, "text");
		const found = await firstExisting([path]);
		if (!found) throw new Error("it is there");
		if (process.getuid?.() !== 0) {
			chmodSync(path, 0);
			expect(await read(path)).toEqual({ why: "unreadable" });
		}
		rmSync(path);
		expect(await readTextFile(found, ELIGIBILITY)).toEqual({ why: "unreadable" });
	});

	test("has become a link between the look and the reading", async () => {
		const folder = tempDir();
		const path = join(folder, "a.txt");
		writeFileSync(path, "text");
		writeFileSync(join(folder, ".env"), "SECRET=1");
		const found = await firstExisting([path]);
		if (!found) throw new Error("it is there");
		rmSync(path);
		symlinkSync(join(folder, ".env"), path);
		expect(await readTextFile(found, ELIGIBILITY)).toEqual({ why: "not-a-file" });
	});
});

test("a file that grows while it is read gives a beginning of it, never more than the bound", async () => {
	const path = join(tempDir(), "log");
	const file = await open(path, "a");
	atEnd(() => file.close());
	let growing = true;
	const growth = (async () => {
		while (growing) await file.write("line\n");
	})();
	for (let round = 0; round < 50; round++) {
		const read = await readTextFile({ path, pathKey: path }, { maxFileBytes: 1e6, exclude: [] });
		if (!("lines" in read)) continue; // it has outgrown the bound
		expect(read.lines.bytes.length).toBeLessThanOrEqual(1e6);
		expect(read.lines.bytes.toString()).toMatch(/^(line\n)*(l|li|lin|line)?$/);
		expect(read.hash).toBe(hashBytes(read.lines.bytes));
	}
	growing = false;
	await growth;
});

test("of several spellings the first that exists is taken", async () => {
	const folder = tempDir();
	const path = (name: string) => join(folder, name);
	writeFileSync(path("b"), "");
	linkSync(path("b"), path("c"));
	symlinkSync(path("nowhere"), path("dangling"));
	symlinkSync(path("loop"), path("loop"));
	const spellings = ["a", "dangling", "loop", "b/inside", "c", "b"].map(path);
	expect(await firstExisting(spellings)).toEqual({ path: path("c"), pathKey: path("c") });
	expect(await firstExisting([path("a"), `${path("b")}\0`])).toBeUndefined();
	expect(await firstExisting([])).toBeUndefined();
});
