import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { extractFacts } from "../../../src/codeindex/extract/extract.ts";

test("a syntax tree that is done with does not wait for a full collection", {
	tags: "slow",
}, () => {
	setFlagsFromString("--expose-gc");
	const collect = runInNewContext("gc") as (options?: { type: "minor" }) => void;
	const source = "export function f(a: number): string {\n\treturn String(a + 1);\n}\n".repeat(200);
	const readFiles = (count: number) => {
		for (let file = 0; file < count; file++) extractFacts(`${file}.ts`, source);
	};
	readFiles(20);
	collect();
	const before = process.memoryUsage().heapUsed;
	readFiles(60);
	collect({ type: "minor" });
	collect({ type: "minor" });
	// Each of the trees takes half a megabyte.
	expect(process.memoryUsage().heapUsed - before).toBeLessThan(8_000_000);
});
