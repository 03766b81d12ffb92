import { expect, test } from "vitest";
import { hashBytes } from "../../src/core/hash.ts";
import {
	copyText,
	droppedText,
	type FileText,
	parseCopy,
	parseDropped,
} from "../../src/workset/copy-text.ts";
import { fc } from "../support/property.ts";

const fileText = (path: string, text: string): FileText => ({ path, text, hash: hashBytes(text) });

test("any file comes back from its block, whatever its name and text", () => {
	fc.assert(
		fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (path, text) => {
			const file = fileText(path.toWellFormed(), text.toWellFormed());
			expect(parseCopy(copyText(file))).toEqual(file);
			expect(parseCopy(copyText(file, hashBytes("before")))).toEqual(file);
		}),
	);
});

test("a text that holds a block of another file is still one file", () => {
	const inner = copyText(fileText("b.ts", "stolen"));
	const outer = fileText("a.ts", `${inner}\n</working-file>\n${inner}`);
	expect(parseCopy(copyText(outer))).toEqual(outer);
});

test("a block that somebody changed is no copy", () => {
	const block = copyText(fileText("a.ts", "const a = 1;"));
	expect(parseCopy(block.replace("1", "2"))).toBeUndefined();
	expect(parseCopy(block.slice(0, -1))).toBeUndefined();
	expect(parseCopy(`x${block}`)).toBeUndefined();
	expect(parseCopy("")).toBeUndefined();
});

test("the header says which copy is replaced, and that a file is gone", () => {
	const file = fileText("a.ts", "a.ts does not exist.");
	const gone = { ...file, gone: true as const };
	const block = copyText(gone, hashBytes("before"));
	expect(block.split("\n")[0]).toBe(
		`<working-file path="a.ts" sha256="${file.hash}" replaces="${hashBytes("before").slice(0, 12)}" state="gone">`,
	);
	expect(parseCopy(block)).toEqual(gone);
});

test("dropped files are read back from the words that announce them", () => {
	expect(parseDropped(droppedText(["a.ts", 'b".ts']))).toEqual(["a.ts", 'b".ts']);
	expect(parseDropped("No longer kept up to date from here on: [")).toEqual([]);
	expect(parseDropped("something else")).toEqual([]);
});
