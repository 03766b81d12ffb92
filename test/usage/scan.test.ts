import {
	appendFileSync,
	readdirSync,
	readFileSync,
	rmSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { UsageAccount } from "../../src/usage/account.ts";
import { UsageCache } from "../../src/usage/cache.ts";
import { type ScanOptions, scanUsage } from "../../src/usage/scan.ts";
import { ClaudeWriter } from "../importers/claude-writer.ts";
import { OpencodeSession } from "../importers/opencode-writer.ts";
import { atEnd, tempDir } from "../support/temp.ts";

describe("a scan", () => {
	test("lists a broken file with the reason, and reads the others", async () => {
		const folder = tempDir();
		const good = transcript("m1").save("good.jsonl", folder);
		const broken = join(folder, "broken.jsonl");
		writeFileSync(broken, "{ this is no session\n");
		const gone = join(folder, "gone.jsonl");
		const { failed, requests } = await scan([broken, gone, good]);
		expect(requests).toBe(1);
		expect(failed).toEqual([
			{ file: gone, reason: expect.stringContaining("cannot read") },
			{ file: broken, reason: expect.stringContaining("is not a session") },
		]);
	});

	test("counts damaged lines of a session that can be read", async () => {
		const writer = transcript("m1").raw('{"type":"assistant","uuid":');
		const account = new UsageAccount();
		await scanUsage([writer.save()], { onUsage: (file, usage) => account.add(file, usage) });
		expect(account.report()).toMatchObject({ skippedLines: 1, total: { requests: 1 } });
	});

	test("does not read files that were last written before the period", async () => {
		const folder = tempDir();
		const [old, fresh] = ["old", "fresh"].map((id) => transcript(id).save(`${id}.jsonl`, folder));
		const sinceMs = Date.now() - 7 * DAY_MS;
		utimesSync(String(old), new Date(), new Date(sinceMs - 2 * DAY_MS));
		const result = await scan([String(old), String(fresh)], { sinceMs });
		expect(result).toMatchObject({ files: 1, requests: 1 });
	});

	test("reads large files in workers, with progress, and one that is broken harms none", {
		tags: "slow",
	}, async () => {
		const folder = tempDir();
		const files = ["m1", "m2", "m3"].map((id) => {
			const writer = transcript(id);
			writer.user("word ".repeat(2_000_000));
			return writer.save(`${id}.jsonl`, folder);
		});
		const broken = join(folder, "broken.jsonl");
		writeFileSync(broken, "no JSON\n".repeat(1000));
		const seen: number[] = [];
		const result = await scan([broken, ...files], {
			onProgress: (bytes, ofBytes) => seen.push(bytes / ofBytes),
		});
		expect(result).toMatchObject({ requests: 3, failed: [{ file: broken }] });
		expect(seen).toHaveLength(4);
		expect(seen.at(-1)).toBe(1);
	});
});

describe("the cache", () => {
	test("sees a message of the older opencode, which is a file of its own", async () => {
		const storage = tempDir();
		const session = new OpencodeSession("ses_1").user("a").assistant("b", { input: 9000 });
		const file = session.saveFolder(storage);
		const { cache } = await opened();
		const asBefore = () => utimesSync(file, new Date(2026, 5, 1), new Date(2026, 5, 1));
		asBefore();
		expect((await scan([file], { cache })).requests).toBe(1);
		session.assistant("c", { input: 9100 }).saveFolder(storage);
		asBefore();
		expect((await scan([file], { cache })).requests).toBe(2);
	});

	test("a second scan reads no file, and its sums are the same", async () => {
		const { cache } = await opened();
		const file = transcript("m1", "m2").save();
		expect(await scan([file], { cache })).toMatchObject({ cached: 0, requests: 2 });
		expect(await scan([file], { cache })).toMatchObject({ cached: 1, requests: 2 });
	});

	test("a file that grew is read again", async () => {
		const { cache } = await opened();
		const writer = transcript("m1");
		const file = writer.save();
		await scan([file], { cache });
		writer.text("m2", "more", { read: 9000 });
		appendFileSync(file, `${writer.lines.at(-1)}\n`);
		expect(await scan([file], { cache })).toMatchObject({ cached: 0, requests: 2 });
		expect(await scan([file], { cache })).toMatchObject({ cached: 1, requests: 2 });
	});

	test("a copy in another file counts once, whether it comes from the cache or from disk", async () => {
		const { cache } = await opened();
		const folder = tempDir();
		const first = transcript("m1", "m2").save("a.jsonl", folder);
		await scan([first], { cache });
		const second = transcript("m1", "m2", "m3").save("b.jsonl", folder);
		expect(await scan([first, second], { cache })).toMatchObject({ cached: 1, requests: 3 });
		expect(await scan([first, second], { cache })).toMatchObject({ cached: 2, requests: 3 });
	});

	test("a deleted file counts no longer, and is forgotten", async () => {
		const { cache } = await opened();
		const file = transcript("m1").save();
		await scan([file], { cache });
		rmSync(file);
		expect(await scan([], { cache })).toMatchObject({ files: 0, requests: 0 });
		cache.forgetDeleted();
		transcript("m1").save("transcript.jsonl", join(file, ".."));
		expect(await scan([file], { cache })).toMatchObject({ cached: 0, requests: 1 });
	});

	test("survives the process, and holds no text of a conversation", async () => {
		const { cache, folder } = await opened();
		const writer = transcript("m1");
		writer.user("SECRET-TEXT");
		const file = writer.save();
		await scan([file], { cache });
		cache.close();
		const stored = readdirSync(folder).map((name) => readFileSync(join(folder, name), "latin1"));
		expect(stored.join("")).toContain("m1");
		expect(stored.join("")).not.toContain("SECRET");
		const again = (await opened(folder)).cache;
		expect(await scan([file], { cache: again })).toMatchObject({ cached: 1, requests: 1 });
	});

	test("a folder of someone else is left alone, with the reason", async () => {
		const folder = tempDir();
		writeFileSync(join(folder, "theirs.txt"), "");
		expect(await UsageCache.open(folder)).toContain("theirs.txt");
		const file = join(tempDir(), "a file");
		writeFileSync(file, "");
		expect(await UsageCache.open(file)).toContain("is not a folder");
	});

	test("a damaged database gives a reason, and one that fails later only costs time", async () => {
		const { cache, folder } = await opened();
		cache.close();
		const file = transcript("m1").save();
		// A closed database fails at each use, as one that is damaged later does.
		expect(await scan([file], { cache })).toMatchObject({ cached: 0, requests: 1, failed: [] });
		writeFileSync(join(folder, "usage.db"), "no database".repeat(1000));
		expect(await UsageCache.open(folder)).toContain("cannot open");
	});
});

const DAY_MS = 24 * 3600 * 1000;

function transcript(...ids: string[]): ClaudeWriter {
	const writer = new ClaudeWriter();
	writer.user("Hello");
	for (const id of ids) writer.text(id, "answer", { write: 9000, output: 5 });
	return writer;
}

async function scan(files: string[], options: Partial<ScanOptions> = {}) {
	const account = new UsageAccount();
	const result = await scanUsage(files, {
		...options,
		onUsage: (file, usage) => account.add(file, usage),
	});
	return { ...result, requests: account.report().total.requests };
}

async function opened(folder = join(tempDir(), "usage")) {
	const cache = await UsageCache.open(folder);
	if (typeof cache === "string") throw new Error(cache);
	atEnd(() => {
		try {
			cache.close();
		} catch {
			// The test has closed it.
		}
	});
	return { cache, folder };
}
