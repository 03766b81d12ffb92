import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { anchorsOf, documentAt, documents, root } from "./documents.ts";

const links = documents.flatMap(({ path, links }) =>
	links.map((link) => ({ ...link, from: path })),
);

test("every link of a document leads to something", () => {
	const broken = links
		.filter(({ path }) => !existsSync(join(root, path)))
		.map(({ from, path }) => `${from}: ${path}`);
	expect(broken).toEqual([]);
	expect(links.length).toBeGreaterThan(50);
});

test("every anchor of a link is a heading of the document it leads to", () => {
	const anchored = links.filter(({ anchor }) => anchor !== undefined);
	const broken = anchored
		.filter(({ path, anchor = "" }) => !anchorsOf(documentAt(path)).includes(anchor))
		.map(({ from, path, anchor }) => `${from}: ${path}#${anchor}`);
	expect(broken).toEqual([]);
	expect(anchored.length).toBeGreaterThan(0);
});

test("every document of docs/ can be reached from the README", () => {
	const reached = new Set(["README.md"]);
	for (const path of reached) {
		if (!path.endsWith(".md") || !existsSync(join(root, path))) continue;
		for (const link of documentAt(path).links) reached.add(link.path);
	}
	const unreachable = documents
		.map(({ path }) => path)
		// The README leads to the folder of decisions, which lists itself.
		.filter((path) => /^docs\/[^/]+\.md$/.test(path) && !reached.has(path));
	expect(unreachable).toEqual([]);
});

test("no document names a place of the machine it was written on", () => {
	const named = documents.flatMap(({ path, text }) =>
		[...text.matchAll(/(?<![\w.])\/(?:tmp|root|work)\/\S*/g)].map(([place]) => `${path}: ${place}`),
	);
	expect(named).toEqual([]);
});
