import { expect, test } from "vitest";
import { contentHash } from "../../../src/economy/replay/content-hash.ts";
import { fc } from "../../support/property.ts";

const text = fc.constantFrom("", "a", "b", ",", "]", "\0", "\x001:a", '"a"', "{}");
const block = fc.record({ type: fc.constantFrom("text", "image"), text }, { requiredKeys: [] });
const content = fc.oneof(
	text,
	fc.jsonValue(),
	fc.array(fc.oneof(text, block, fc.array(text)), { maxLength: 3 }),
);

test("contents have the same hash if and only if they are the same", () => {
	fc.assert(
		fc.property(content, content, (one, other) => {
			const isSame = JSON.stringify(one) === JSON.stringify(other);
			expect(contentHash("user", one) === contentHash("user", other)).toBe(isSame);
			expect(contentHash("user", structuredClone(one))).toBe(contentHash("user", one));
		}),
	);
});

test("the kind is part of the hash, and the order of a block's keys is not", () => {
	expect(contentHash("user", "a")).not.toBe(contentHash("text", "a"));
	const [one, other] = [
		{ type: "text", text: "a" },
		{ text: "a", type: "text" },
	];
	expect(contentHash("user", one)).toBe(contentHash("user", other));
});
