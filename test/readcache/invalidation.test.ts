import { expect, test } from "vitest";
import { INVALIDATION_ENTRY } from "../../src/core/entry-types.ts";
import { parseInvalidation } from "../../src/readcache/metadata.ts";
import { fc } from "../support/property.ts";

const VALID = { v: 1, kind: "invalidate", pathKey: "/a.ts", scopeKey: "r:2:5", at: 1 };

const parse = (data: unknown, customType = INVALIDATION_ENTRY) =>
	parseInvalidation({ kind: "custom", entryId: "1", customType, data });

test("a stored invalidation names a file and lines, or all of it", () => {
	expect(parse(VALID)).toEqual({ pathKey: "/a.ts", scope: { start: 2, end: 5 } });
	expect(parse({ ...VALID, scopeKey: "full" })).toEqual({ pathKey: "/a.ts", scope: "full" });
});

test("entries of other extensions are none, whatever they hold", () => {
	expect(parse(VALID, "somebody-else")).toBeUndefined();
});

test.each<[string, unknown]>([
	["another version", { ...VALID, v: 2 }],
	["another kind", { ...VALID, kind: "note" }],
	["no path", { ...VALID, pathKey: undefined }],
	["no scope", { ...VALID, scopeKey: "r:5:2" }],
	["null", null],
	["a text", "full"],
	["nothing", undefined],
])("an entry with %s is none", (_name, data) => {
	expect(parse(data)).toBeUndefined();
});

test("anything at all is an invalidation or none", () => {
	const fault = fc.dictionary(fc.constantFrom(...Object.keys(VALID)), fc.anything(), {
		maxKeys: 2,
	});
	const data = fc.oneof(
		fc.anything(),
		fault.map((values) => ({ ...VALID, ...values })),
	);
	fc.assert(
		fc.property(data, (value) => {
			const parsed = parse(value);
			if (parsed) expect(parsed.pathKey).toBe((value as { pathKey: unknown }).pathKey);
		}),
	);
});
