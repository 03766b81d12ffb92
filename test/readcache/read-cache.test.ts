import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { measureStore } from "../../src/cli/clean.ts";
import { tempDir } from "../support/temp.ts";
import { cachedSession, numbered, plain } from "./cached-session.ts";

test("a range seen at two versions does not claim changes outside of it where there are none", async () => {
	const { write, read } = cachedSession();
	write("a.txt", numbered(20));
	await read("a.txt", { offset: 1, limit: 5 });
	write("a.txt", numbered(20).replace("line 8\n", "LINE 8\n"));
	await read("a.txt", { offset: 6, limit: 5 });
	const { text } = await read("a.txt", { offset: 1, limit: 10 });
	expect(text).toBe("[readcache: unchanged in lines 1-10 of 21]");
});

test("the store keeps its cap while a session lasts", { tags: "slow" }, async () => {
	const { write, read, cache, store } = cachedSession({ storeMaxBytes: 100_000 });
	for (let version = 0; version < 30; version++) {
		write("a.txt", `${version}\n`.repeat(20_000));
		await read("a.txt");
	}
	await cache.flush();
	expect((await store.stats()).bytes).toBeLessThanOrEqual(225_000); // twice the cap for what is new, and a quarter
});

describe("a read that is not followed, through a link that moves afterwards", () => {
	test.each(["in the same process", "after a resume"])("ends what was known: %s", async (when) => {
		const first = cachedSession();
		const { write, read, cwd, session } = first;
		write("a.txt", numbered(5));
		write("b.txt", "b\n");
		symlinkSync("a.txt", join(cwd, "link"));
		await read("a.txt");
		write("a.txt", Buffer.from([0xff, 0xfe, 65]));
		await read("link");
		unlinkSync(join(cwd, "link"));
		symlinkSync("b.txt", join(cwd, "link"));
		write("a.txt", numbered(5));
		const later = when === "after a resume" ? cachedSession({}, { cwd, session }) : first;
		expect((await later.read("a.txt")).text).toBe(numbered(5));
	});
});

test("a read of an excluded file through a link says which file that was", async () => {
	const { write, cache, cwd, session } = cachedSession();
	const read = (path: string) => cache.read({ toolCallId: path, path }, session, plain(cwd));
	write(".env", numbered(5));
	symlinkSync(".env", join(cwd, "settings.txt"));
	const { details } = await read("settings.txt");
	expect(details).toEqual({ readcache: { v: 1, mode: "untracked", pathKey: join(cwd, ".env") } });
	expect((await read(".env")).details).toBeUndefined();
});

test("shadow mode audits diffs too", async () => {
	const { write, read, cache } = cachedSession({ mode: "shadow" });
	write("a.txt", numbered(40));
	await read("a.txt");
	write("a.txt", numbered(40).replace("line 8\n", "LINE 8\n"));
	await read("a.txt");
	expect(cache.tally.shadow.served.get("diff")).toBe(1);
	expect(cache.tally.shadow.unsound).toBe(0);
});

test.skipIf(process.platform === "win32")(
	"a store whose version file is a pipe is foreign, at once",
	async () => {
		const folder = join(tempDir(), "readcache");
		mkdirSync(folder);
		execFileSync("mkfifo", [join(folder, "version.json")]);
		const store = await measureStore({ name: "readcache", folder, what: "", loss: "" });
		expect(store.state).toBe("foreign");
	},
);
