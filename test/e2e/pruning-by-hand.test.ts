/** A user drops results and brings them back, in a real pi. */
import { beforeEach, expect, test } from "vitest";
import { startPruning } from "../support/pruning-session.ts";
import { atEnd, tempDir } from "../support/temp.ts";

beforeEach(() => {
	const before = process.env.XDG_CACHE_HOME;
	process.env.XDG_CACHE_HOME = tempDir();
	atEnd(() => {
		if (before === undefined) delete process.env.XDG_CACHE_HOME;
		else process.env.XDG_CACHE_HOME = before;
	});
});

test("a dropped result is a stub from the next request on, and comes back when it is restored", {
	tags: "slow",
}, async () => {
	const { pi, ask, readNew, talk } = await startPruning();
	const { id, text } = await readNew();
	const seen = () => pi.seenTextOf(id) ?? "";
	expect(await ask("/kota drop")).toContain("Name the call");
	expect(await ask("/kota drop other")).toContain("no result of this call");
	expect(await ask(`/kota drop ${id}`)).toContain("the next request has a stub");
	await talk();
	expect(seen()).toMatch(/^\(Pruned\) read/);
	expect(await ask(`/kota drop ${id}`)).toContain("a stub already");
	// The session has it too: another process would send the same.
	const edits = pi.sessionManager.getBranch().filter(({ type }) => type === "context_edit");
	expect(edits).toHaveLength(1);

	expect(await ask(`/kota restore ${id}`)).toContain("full text again");
	await talk();
	expect(seen()).toBe(text);
	await talk();
	expect(seen()).toBe(text);
	expect(await ask(`/kota restore ${id}`)).toContain("in full already");
	expect(await ask(`/kota drop ${id}`)).toContain("unpin it first");
});

test("a drop that no request has shown yet can be taken back", { tags: "slow" }, async () => {
	const { pi, ask, readNew, talk } = await startPruning();
	const { id, text } = await readNew();
	await ask(`/kota drop ${id}`);
	await ask(`/kota restore ${id}`);
	await talk();
	expect(pi.seenTextOf(id)).toBe(text);
	expect(pi.sessionManager.getBranch().some(({ type }) => type === "context_edit")).toBe(false);
});

test("nothing is dropped while pruning is off", { tags: "slow" }, async () => {
	const { ask, readNew } = await startPruning({ prune: { enabled: false } });
	const { id } = await readNew();
	expect(await ask(`/kota drop ${id}`)).toContain("prune.enabled is false");
	expect(await ask(`/kota restore ${id}`)).toContain("prune.enabled is false");
});
