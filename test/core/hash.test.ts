import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { hashBytes, isHash } from "../../src/core/hash.ts";
import { fc } from "../support/property.ts";

test("a hash is the sha256 of the bytes in lowercase hex", () => {
	fc.assert(
		fc.property(fc.uint8Array(), (bytes) => {
			const hash = hashBytes(bytes);
			expect(hash).toBe(createHash("sha256").update(bytes).digest("hex"));
			expect(isHash(hash)).toBe(true);
		}),
	);
});

test("a string is hashed as its UTF-8 bytes, byte order mark included", () => {
	expect(hashBytes("\uFEFFnaïve\r\n")).toBe(hashBytes(Buffer.from("\uFEFFnaïve\r\n")));
	expect(hashBytes("\uFEFFa")).not.toBe(hashBytes("a"));
});

test("only 64 lowercase hex digits are a hash", () => {
	const hash = hashBytes("x");
	for (const value of [hash.toUpperCase(), hash.slice(1), `${hash}\n`, `../${hash}`, "", 5, null]) {
		expect(isHash(value)).toBe(false);
	}
});
