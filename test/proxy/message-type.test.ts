import { expect, test } from "vitest";
import { LOOKED_AT_BYTES, messageType } from "../../src/proxy/message-type.ts";

const typeOf = (text: string) => messageType(Buffer.from(text));

test.each([
	['{"type":"a"}', "a"],
	[' {\n"x" : [{"type":"b"}, "type", "c"], "type" : "a" }', "a"],
	['{"x":"type","y":"b","type":"a"}', "a"],
	['{"x":"\\\\","type":"a"}', "a"],
	['{"x":"\\"type\\":\\"b\\"","type":"a"}', "a"],
	['{"type":5,"x":"b"}', ""],
	['{"type":{"type":"b"},"x":"c"}', ""],
	['{"item":{"type":"b"}}', ""],
	['["type","a"]', ""],
	['{"type":"a', ""],
	["", ""],
])("the type of %j is %j", (text, type) => {
	expect(typeOf(text)).toBe(type);
});

test("a type behind the bytes that are looked at is not known", () => {
	const before = (bytes: number) => `{"x":"${"y".repeat(bytes - 8)}",`;
	expect(typeOf(`${before(LOOKED_AT_BYTES - 100)}"type":"a"}`)).toBe("a");
	expect(typeOf(`${before(LOOKED_AT_BYTES)}"type":"a"}`)).toBeUndefined();
	expect(typeOf(`{"type":"${"a".repeat(LOOKED_AT_BYTES)}"}`)).toBeUndefined();
});

test.each([
	["escaped quotes", '\\"'],
	["backslashes", "\\\\"],
	["characters", "x"],
	["strings", '","'],
	["values", '",[{}],"'],
])("a long message of %s takes no more work than a short one", (_name, part) => {
	const text = `{"x":"${part.repeat(1_000_000)}","type":"a"}`;
	const [bytes, reads] = countingReads(Buffer.from(text));
	expect(messageType(bytes)).toBeUndefined();
	expect(reads()).toBeLessThanOrEqual(2 * LOOKED_AT_BYTES);
});

/** Only reads of single bytes work, and they are counted: a method that looks at many would throw. */
function countingReads(bytes: Uint8Array): [Uint8Array, () => number] {
	let reads = 0;
	const counted = new Proxy(bytes, {
		get(target, name) {
			if (name === "length") return target.length;
			reads++;
			return Reflect.get(target, name);
		},
	});
	return [counted, () => reads];
}
