import fc from "fast-check";
import { expect, test } from "vitest";
import { ByteReader, ByteWriter, MalformedBytes } from "../../../src/codeindex/store/bytes.ts";
import { packBindings, unpackBindings } from "../../../src/codeindex/store/pack-bindings.ts";
import {
	packExports,
	packRequests,
	unpackExports,
	unpackRequests,
} from "../../../src/codeindex/store/pack-links.ts";
import { packReferences, unpackReferences } from "../../../src/codeindex/store/pack-references.ts";
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
		fc.property(arbitraryFacts, ({ bindings, exports, requests, references }) => {
			const back = <T>(write: (writer: ByteWriter) => void, read: (reader: ByteReader) => T) =>
				read(new ByteReader(packed(write)));
			expect(back((writer) => packBindings(writer, bindings), unpackBindings)).toStrictEqual(
				bindings,
			);
			expect(back((writer) => packExports(writer, exports), unpackExports)).toStrictEqual(exports);
			expect(back((writer) => packRequests(writer, requests), unpackRequests)).toStrictEqual(
				requests,
			);
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
			for (const unpack of [unpackBindings, unpackExports, unpackRequests]) {
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
