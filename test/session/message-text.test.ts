import { describe, expect, test } from "vitest";
import { textOf } from "../../src/session/messages.ts";
import { fc } from "../support/property.ts";

const block = (text: string) => ({ type: "text", text });

describe("the text of a message", () => {
	test("is a string as it is, and of blocks their texts with newlines between", () => {
		expect(textOf("plain")).toBe("plain");
		expect(textOf("")).toBe("");
		expect(textOf([block("one")])).toBe("one");
		expect(textOf([block("")])).toBe("");
		expect(textOf([block("one"), block(""), block("two\n")])).toBe("one\n\ntwo\n");
	});

	test("may carry more than a type and a text in its blocks", () => {
		expect(textOf([{ type: "text", text: "x", textSignature: "s" }])).toBe("x");
	});

	test.each([
		["no block", []],
		["a picture", [{ type: "image", data: "", mimeType: "image/png" }]],
		["a picture after text", [block("x"), { type: "image", data: "", mimeType: "image/png" }]],
		["a block without text", [{ type: "text" }]],
		["a text that is no string", [{ type: "text", text: 1 }]],
		["another kind of block with a text", [{ type: "thinking", text: "x" }]],
		["null among the blocks", [block("x"), null]],
		["null", null],
		["nothing", undefined],
		["an object", { type: "text", text: "x" }],
	])("is not there for %s", (_name, content) => {
		expect(textOf(content)).toBeUndefined();
	});

	test("is a string or nothing, whatever a session file holds", () => {
		fc.assert(
			fc.property(fc.anything(), (content) => {
				expect(["string", "undefined"]).toContain(typeof textOf(content));
			}),
		);
	});
});
