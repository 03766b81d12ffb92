import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { buildDashboard } from "../support/build-dashboard.ts";

test("the whole page is below 150 kB when it is packed, all views included", {
	tags: "slow",
}, async () => {
	const folder = await buildDashboard();
	const names = readdirSync(folder, { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile())
		.map(({ parentPath, name }) => join(parentPath, name));
	const start = readFileSync(join(folder, "index.html"), "utf8");
	let first = 0;
	let later = 0;
	for (const name of names) {
		const size = gzipSync(readFileSync(name)).length;
		const isFirst = name.endsWith("index.html") || start.includes(name.split(/[\\/]/).at(-1) ?? "");
		if (isFirst) first += size;
		else later += size;
	}
	console.log(`the page, packed: ${kb(first)} at first, ${kb(later)} with the views`);
	expect(later).toBeGreaterThan(0);
	expect(first + later).toBeLessThanOrEqual(150_000);
});

const kb = (bytes: number) => `${(bytes / 1000).toFixed(1)} kB`;
