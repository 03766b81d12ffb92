import { execFileSync } from "node:child_process";
import {
	chmodSync,
	readdirSync,
	readFileSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadTokens, parseTokens } from "../../src/core/token-file.ts";
import { tempDir } from "../support/temp.ts";

const A = "a".repeat(16);
const B = "b".repeat(20);

describe("the token file", () => {
	test("a missing one is made for the owner only, with one entry for local", async () => {
		const path = join(tempDir(), "deep", "tokens");
		const tokens = await loadTokens(path);
		expect(statSync(path).mode & 0o777).toBe(0o600);
		expect(tokens.first.name).toBe("local");
		expect(Buffer.from(tokens.first.token, "base64url")).toHaveLength(32);
		expect(tokens.principalOf(tokens.first.token)).toBe("local");
		expect(readdirSync(join(path, ".."))).toEqual(["tokens"]);
	});

	test("is the same the next time, also for servers that start at the same moment", async () => {
		const path = join(tempDir(), "tokens");
		const loaded = await Promise.all(Array.from({ length: 8 }, () => loadTokens(path)));
		const known = new Set(loaded.map(({ first }) => first.token));
		expect([...known]).toEqual([(await loadTokens(path)).first.token]);
	});

	test("a token names its principal, and a name may have several", async () => {
		const path = file(`# people\nann:${A}\n\n  bob : ${B} \nann:${"c".repeat(16)}\n`);
		const tokens = await loadTokens(path);
		expect(tokens.principalOf(A)).toBe("ann");
		expect(tokens.principalOf(B)).toBe("bob");
		expect(tokens.principalOf("c".repeat(16))).toBe("ann");
	});

	test.each(["", "x", `${A}a`, A.slice(1), `ann:${A}`, A.toUpperCase()])(
		"anything else is nobody's: %j",
		async (token) => {
			expect((await loadTokens(file(`ann:${A}`))).principalOf(token)).toBeUndefined();
		},
	);

	test.each([0o640, 0o604, 0o622, 0o666])(
		"one open to others (mode %o) is refused",
		async (mode) => {
			const path = file(`ann:${A}`);
			chmodSync(path, mode);
			await expect(loadTokens(path)).rejects.toThrow(`chmod 600 ${path}`);
		},
	);

	test("a folder in its place is refused", async () => {
		await expect(loadTokens(tempDir())).rejects.toThrow(/not a regular file|cannot read/);
	});

	test("a pipe in its place is refused without waiting for it", async () => {
		const path = join(tempDir(), "pipe");
		execFileSync("mkfifo", ["-m", "600", path]);
		await expect(loadTokens(path)).rejects.toThrow("not a regular file");
	});

	test("a link is as good as the file it leads to, and one that leads nowhere is refused in words", async () => {
		const path = join(tempDir(), "link");
		symlinkSync(file(`ann:${A}`), path);
		expect((await loadTokens(path)).principalOf(A)).toBe("ann");
		const nowhere = join(tempDir(), "link");
		symlinkSync("/no/such/place/tokens", nowhere);
		await expect(loadTokens(nowhere)).rejects.toThrow(`${nowhere} is a broken link`);
	});

	test("one without entries is refused", async () => {
		await expect(loadTokens(file("# nobody\n"))).rejects.toThrow("has no entry");
	});

	test.each([
		["no colon", "line 2: the line must have the form name:token"],
		[`a b:${A}`, "line 2: the name must have"],
		[`:${A}`, "line 2: the name must have"],
		["ann:short", "line 2: the token must have at least 16"],
		[`ann:${A}/=`, "line 2: the token must have at least 16"],
		[`ann:${B}\nbob:${B}`, "line 3: ann has the same token"],
	])("a wrong line is named without what is on it: %s", (line, fault) => {
		const parse = () => parseTokens(`\n${line}`, "tokens");
		expect(parse).toThrow(fault);
		expect(parse).not.toThrow(new RegExp(`${A}|${B}|short`));
	});
});

function file(text: string): string {
	const path = join(tempDir(), "tokens");
	writeFileSync(path, text, { mode: 0o600 });
	expect(readFileSync(path, "utf8")).toBe(text);
	return path;
}
