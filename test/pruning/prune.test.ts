import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type BlobStore, createBlobStore } from "../../src/core/blob-store.ts";
import type { Candidate } from "../../src/pruning/candidates.ts";
import { prune } from "../../src/pruning/live.ts";
import { tempDir } from "../support/temp.ts";
import { conversationOf } from "./conversation.ts";

function storeIn(dir: string, more: object = {}): BlobStore {
	return createBlobStore({ enabled: true, dir, maxBytes: 1e9, maxAgeDays: 14, ...more });
}

/** Candidates with texts of their own. */
function candidates(count: number, why: Candidate["why"] = "old"): Candidate[] {
	const { results } = conversationOf(Array(count).fill({ tool: "read" }));
	return [...results.values()].map((item, at) => {
		const text = `${why} ${at} ${"text ".repeat(500)}`;
		return { item: { ...item, entryId: `${why}${at}`, text, returned: text }, at, why };
	});
}

describe("pruning", () => {
	test("keeps each original as it was before it makes a stub", async () => {
		const blobs = storeIn(tempDir());
		const { pruned, why } = await prune(candidates(20), blobs);
		expect(why).toBeUndefined();
		expect(pruned).toHaveLength(20);
		for (const { original, stub } of pruned) {
			const id = /([0-9a-f]{64})\.txt$/.exec(stub)?.[1] ?? "";
			expect(await blobs.load(id)).toEqual({ kind: "found", text: original });
		}
	});

	test("leads to the exact text of a result that was shortened at birth, or makes no stub", async () => {
		const blobs = storeIn(tempDir());
		const exact = "exact text ".repeat(500);
		const kept = await blobs.keep(exact);
		if (kept.kind !== "kept") throw new Error(kept.why);
		const hash = kept.blob.id;
		const note = { v: 1, form: 1, shown: hash, expanded: hash, savedChars: 1, references: [] };
		const shortened = (original: string) =>
			candidates(1).map(({ item, ...rest }) => ({
				...rest,
				item: { ...item, details: { birth: { ...note, original } } },
			}));
		const { pruned } = await prune(shortened(hash), blobs);
		expect(pruned).toMatchObject([{ original: candidates(1)[0]?.item.text, stored: exact }]);
		expect(pruned[0]?.stub).toContain(kept.blob.path);
		const lost = await prune(shortened(hash.replace(/./g, "0")), blobs);
		expect(lost).toEqual({ pruned: [], why: "the exact text of a shortened result is lost" });
	});

	test("leaves a result that a reference means if the result with the reference could not be stored", async () => {
		const blobs = storeIn(tempDir());
		const [base, referrer, other] = candidates(3) as [Candidate, Candidate, Candidate];
		const id = "0".repeat(64);
		const references = [{ line: 1, base: base.item.toolCallId, first: 1, last: 9 }];
		const birth = {
			v: 1,
			form: 1,
			shown: id,
			expanded: id,
			original: id,
			savedChars: 1,
			references,
		};
		const lost = { ...referrer, item: { ...referrer.item, details: { birth } } };
		const { pruned } = await prune([base, lost, other], blobs);
		expect(pruned.map(({ entryId }) => entryId)).toEqual([other.item.entryId]);
		const alone = await prune([base, other], blobs, [base.item, lost.item, other.item]);
		expect(alone.pruned.map(({ entryId }) => entryId)).toEqual([other.item.entryId]);
	});

	test("takes what is superseded first when there is too much for once", {
		tags: "slow",
	}, async () => {
		const kept: string[] = [];
		const real = storeIn(tempDir());
		const blobs = {
			...real,
			keep: (text: string) => real.keep(text).finally(() => kept.push(text)),
		};
		const { pruned } = await prune([...candidates(490), ...candidates(20, "superseded")], blobs);
		expect(pruned).toHaveLength(500);
		expect(pruned.filter(({ entryId }) => entryId.startsWith("superseded"))).toHaveLength(20);
		expect(kept[0]).toMatch(/^superseded/);
	});

	test("stops at a store that fails, and makes no stub without an original", async () => {
		const real = storeIn(tempDir());
		let count = 0;
		const keep: BlobStore["keep"] = async (text) =>
			++count > 10 ? { kind: "not-kept", why: "the disk is full" } : real.keep(text);
		const { pruned, why } = await prune(candidates(100), { ...real, keep });
		expect(why).toBe("the disk is full");
		expect(pruned).toHaveLength(10);
		expect(count).toBeLessThan(30);
	});

	test("goes on behind a single text that could not be kept", async () => {
		const real = storeIn(tempDir());
		const keep: BlobStore["keep"] = async (text) =>
			text.startsWith("old 0 ") ? { kind: "not-kept", why: "too big" } : real.keep(text);
		const { pruned, why } = await prune(candidates(20), { ...real, keep });
		expect(why).toBe("too big");
		expect(pruned).toHaveLength(19);
	});

	test("does not trust a copy that was there before and is not the text", async () => {
		const dir = tempDir();
		const blobs = storeIn(dir);
		const [candidate] = candidates(1) as [Candidate];
		const kept = await blobs.keep(candidate.item.text ?? "");
		if (kept.kind !== "kept") throw new Error(kept.why);
		writeFileSync(kept.blob.path, (candidate.item.text ?? "").replace("t", "T"));
		expect((await prune([candidate], blobs)).pruned).toHaveLength(1);
		expect(await storeIn(dir).load(kept.blob.id)).toMatchObject({ text: candidate.item.text });
	});

	test("leaves everything when copies vanish as soon as they are written", async () => {
		const blobs: BlobStore = { ...storeIn(tempDir()), load: async () => ({ kind: "missing" }) };
		const { pruned, why } = await prune(candidates(3), blobs);
		expect(pruned).toEqual([]);
		expect(why).toBe("the stored copy differs from the text");
	});

	test("says so when the folder is switched off, or its name leaves no room in a stub", async () => {
		const off = await prune(candidates(3), storeIn(tempDir(), { enabled: false }));
		expect(off).toEqual({ pruned: [], why: "blobs.enabled is false" });
		const far = await prune(candidates(3), storeIn(join(tempDir(), "d".repeat(200))));
		expect(far.pruned).toEqual([]);
		expect(far.why).toContain("too long");
	});
});
