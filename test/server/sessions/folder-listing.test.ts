import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findFiles, listFolders, rankOf } from "../../../src/server/sessions/folder-listing.ts";
import { tempDir } from "../../support/temp.ts";

function project(): string {
	const root = tempDir();
	for (const path of [
		"src/deep/cart.ts",
		"src/cart.test.ts",
		"docs/shopping-cart.md",
		"readme.md",
	]) {
		mkdirSync(join(root, path, ".."), { recursive: true });
		writeFileSync(join(root, path), "");
	}
	for (const path of [".git/config", "node_modules/cart/index.js"]) {
		mkdirSync(join(root, path, ".."), { recursive: true });
		writeFileSync(join(root, path), "");
	}
	symlinkSync(root, join(root, "loop"));
	return root;
}

test("files are found by name first, without hidden and installed ones, and no link is followed", async () => {
	const root = project();
	const all = (query: string, limit = 50) => findFiles(root, query, limit);
	expect(await all("cart")).toEqual({
		files: ["src/cart.test.ts", "src/deep/cart.ts", "docs/shopping-cart.md"].sort(
			(a, b) => rankOf(a, "cart") - rankOf(b, "cart") || a.length - b.length,
		),
		truncated: false,
	});
	expect((await all("sdc")).files).toContain("src/deep/cart.ts");
	expect(await all("", 2)).toMatchObject({ files: { length: 2 }, truncated: true });
	expect((await all("config")).files).toEqual([]);
});

test("folders are listed by name, from home on, and a missing one is refused by name", async () => {
	const root = project();
	expect(await listFolders(root)).toMatchObject({
		folder: root,
		folders: ["docs", "node_modules", "src"],
		truncated: false,
	});
	expect((await listFolders("~")).folder).toBe(homedir());
	expect((await listFolders()).folder).toBe(homedir());
	await expect(listFolders(join(root, "none"))).rejects.toThrow(/no readable folder ".*none"/);
	await expect(listFolders("relative")).rejects.toThrow('"relative"');
});
