import { expect, test } from "vitest";
import { JsonSpan } from "../../src/wire/json-span.ts";
import { fc, runs } from "../support/property.ts";

const spaced = (value: unknown, spaces: number) => JSON.stringify(value, null, spaces);

test("the members and items of any JSON are those of JSON.parse, at their places", () => {
	fc.assert(
		fc.property(fc.jsonValue(), fc.constantFrom(0, 1, 4), (value, spaces) => {
			const bytes = Buffer.from(`\n ${spaced(value, spaces)} `);
			expect(read(JsonSpan.of(bytes))).toEqual(JSON.parse(bytes.toString()));
		}),
		{ numRuns: runs(300) },
	);
});

test("damaged JSON throws a SyntaxError, or reads as something", () => {
	fc.assert(
		fc.property(fc.jsonValue(), fc.nat(), fc.nat(255), (value, place, byte) => {
			const bytes = Buffer.from(spaced(value, 1));
			bytes[place % bytes.length] = byte;
			try {
				read(JsonSpan.of(bytes));
			} catch (error) {
				expect(error).toBeInstanceOf(SyntaxError);
			}
		}),
		{ numRuns: runs(500) },
	);
});

test("an empty body is malformed", () => {
	expect(() => JsonSpan.of(Buffer.alloc(0))).toThrow(SyntaxError);
});

/** By members and items down to the scalars. */
function read(span: JsonSpan): unknown {
	if (span.isArray) return [...span.items()].map(read);
	if (!span.isObject) return span.value;
	const object: Record<string, unknown> = Object.create(null);
	for (const [key, member] of span.members()) object[key] = read(member);
	return { ...object };
}
