import { expect, test } from "vitest";
import { bindings, exports, requests } from "../../../src/codeindex/store/records.ts";
import { packReferences, unpackReferences } from "../../../src/codeindex/store/references.ts";
import { ByteReader, type Bytes, ByteWriter, MalformedBytes } from "../../../src/core/bytes.ts";
import { fc } from "../../support/property.ts";
import { arbitraryFacts } from "./arbitrary-facts.ts";

function packed(write: (writer: ByteWriter) => void): Uint8Array {
	const writer = new ByteWriter();
	write(writer);
	return writer.take();
}

test("numbers and texts of every kind come back as they were", () => {
	const value = fc.oneof(
		fc.maxSafeNat(),
		fc.maxSafeInteger().filter((n) => Math.abs(n) < 2 ** 51),
	);
	const text = fc.oneof(fc.string({ unit: "binary" }), fc.constant("\ud800 alone"));
	fc.assert(
		fc.property(fc.array(fc.oneof(value, text)), (values) => {
			const bytes = packed((writer) => {
				for (const one of values) {
					if (typeof one === "string") writer.string(one);
					else if (one < 0) writer.signed(one);
					else writer.number(one);
				}
			});
			const reader = new ByteReader(bytes);
			for (const one of values) {
				if (typeof one === "string") expect(reader.string()).toBe(one);
				else expect(one < 0 ? reader.signed() : reader.number()).toBe(one);
			}
			expect(reader.isAtEnd).toBe(true);
		}),
	);
});

test("facts come back as they were packed", () => {
	fc.assert(
		fc.property(arbitraryFacts, (facts) => {
			const { references } = facts;
			const back = <T>(layout: (io: Bytes, value?: T) => T, value: T) =>
				layout(new ByteReader(packed((writer) => layout(writer, value))));
			expect(back(bindings, facts.bindings)).toStrictEqual(facts.bindings);
			expect(back(exports, facts.exports)).toStrictEqual(facts.exports);
			expect(back(requests, facts.requests)).toStrictEqual(facts.requests);
			const bytes = packed((writer) => packReferences(writer, references));
			for (let binding = 0; binding < 7; binding++) {
				expect(unpackReferences(bytes, binding)).toStrictEqual(
					references.filter((reference) => reference.binding === binding),
				);
			}
		}),
	);
});

test("damaged bytes are told apart or give something else, but never hang or crash", () => {
	fc.assert(
		fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
			for (const unpack of [bindings, exports, requests]) {
				try {
					unpack(new ByteReader(bytes));
				} catch (error) {
					expect(error).toBeInstanceOf(MalformedBytes);
				}
			}
		}),
	);
	expect(() => new ByteReader(new Uint8Array([0xff])).number()).toThrow(MalformedBytes);
	expect(() => new ByteReader(new Uint8Array(12).fill(0xff)).number()).toThrow(MalformedBytes);
	expect(() => new ByteReader(new Uint8Array([100, 65])).string()).toThrow(MalformedBytes);
});
