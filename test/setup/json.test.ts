import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../src/setup/formats/format.ts";
import { json } from "../../src/setup/formats/json.ts";
import { fc, runs } from "../support/property.ts";

const SERVER = { command: "/a b/node", args: ["/x/strata.js", "mcp"] };
const PATH = ["mcpServers", "strata"];

describe("a key is set", () => {
	test.each([
		["an empty file", "", '{\n  "mcpServers": {\n    "strata": 1\n  }\n}\n'],
		["an empty object", "{}\n", '{\n  "mcpServers": {\n    "strata": 1\n  }\n}\n'],
		["comments only", "// mine\n", '// mine\n{\n  "mcpServers": {\n    "strata": 1\n  }\n}\n'],
		["one line", '{"a":1}', '{"a":1, "mcpServers": {"strata":1}}'],
		["an empty object on one line", '{"mcpServers":{}}', '{"mcpServers":{"strata": 1}}'],
		["tabs", '{\n\t"a": 1\n}\n', '{\n\t"a": 1,\n\t"mcpServers": {\n\t\t"strata": 1\n\t}\n}\n'],
		[
			"carriage returns",
			'{\r\n  "a": 1\r\n}\r\n',
			'{\r\n  "a": 1,\r\n  "mcpServers": {\r\n    "strata": 1\r\n  }\r\n}\r\n',
		],
		[
			"a trailing comma",
			'{\n  "a": 1,\n}\n',
			'{\n  "a": 1,\n  "mcpServers": {\n    "strata": 1\n  },\n}\n',
		],
		[
			"a comment behind the last key",
			'{\n  "a": 1 // about a\n}\n',
			'{\n  "a": 1, // about a\n  "mcpServers": {\n    "strata": 1\n  }\n}\n',
		],
		[
			"a comment behind a trailing comma",
			'{\n  "a": 1, // about a, and more\n  /* end */\n}\n',
			'{\n  "a": 1, // about a, and more\n  /* end */\n  "mcpServers": {\n    "strata": 1\n  },\n}\n',
		],
		[
			"a comment in an empty object",
			'{\n  "mcpServers": {\n    // none yet\n  }\n}\n',
			'{\n  "mcpServers": {\n    // none yet\n    "strata": 1\n  }\n}\n',
		],
		[
			"a brace behind the last key",
			'{\n  "a": 1 }\n',
			'{\n  "a": 1,\n  "mcpServers": {\n    "strata": 1\n  }\n}\n',
		],
		["a byte order mark", '\uFEFF{"a":1}', '\uFEFF{"a":1, "mcpServers": {"strata":1}}'],
	])("in %s, and everything else stays as it is", (_, before, after) => {
		expect(json.set(before, PATH, 1)).toBe(after);
	});

	test("in place of an old value", () => {
		const before = '{\n  "mcpServers": { "strata": 1, "b": 2 } // c\n}\n';
		expect(json.set(before, PATH, 3)).toBe('{\n  "mcpServers": { "strata": 3, "b": 2 } // c\n}\n');
		const lines = JSON.stringify({ mcpServers: { strata: SERVER, b: 2 } }, null, "\t");
		const other = { ...SERVER, command: "/c/node" };
		expect(json.set(lines, PATH, other)).toBe(lines.replace("/a b/node", "/c/node"));
	});
});

describe("a key is removed", () => {
	test.each([
		["the last of several", '{\n  "b": 2,\n  "a": 1\n}\n', '{\n  "b": 2\n}\n'],
		["the first of several", '{\n  "a": 1,\n  "b": 2\n}\n', '{\n  "b": 2\n}\n'],
		["the only one", '{\n  "a": 1\n}\n', "{}\n"],
		["one before a trailing comma", '{\n  "b": 2,\n  "a": 1,\n}\n', '{\n  "b": 2,\n}\n'],
		["one on a line of others", '{"b":2, "a": 1, "c": 3}', '{"b":2, "c": 3}'],
		["the last on a line of others", '{"b":2, "a": 1}', '{"b":2}'],
		["one with a comment above", '{\n  "b": 2, // two\n  "a": 1\n}\n', '{\n  "b": 2 // two\n}\n'],
		[
			"one with a comment behind",
			'{\n  "a": 1, // one\n  "b": 2\n}\n',
			'{\n  // one\n  "b": 2\n}\n',
		],
		["one with a comment before its comma", '{"a": 1 /* x */, "b": 2}', '{ /* x */ "b": 2}'],
	])("%s, and comments stay", (_, before, after) => {
		expect(json.remove(before, ["a"])).toBe(after);
	});
});

test("an element is added to a list, and removed", () => {
	const before = '{\n  "list": [\n    { "x": 1 }\n  ]\n}\n';
	const after = json.append(before, ["list"], { y: 2 });
	expect(after).toBe('{\n  "list": [\n    { "x": 1 },\n    {\n      "y": 2\n    }\n  ]\n}\n');
	expect(json.remove(after, ["list", 1])).toBe(before);
});

test.each([
	["{", "is not valid JSON (line 1)"],
	['{\n"a": 1\n"b": 2}', "is not valid JSON (line 3)"],
	["[]", "holds something else than a JSON object"],
	['{"mcpServers": []}', "has something else than an object at mcpServers"],
	['{"mcpServers": "x"}', "has something else than an object at mcpServers"],
	['{"a": 1, "a": 2}', "has the same key twice"],
])("%j is refused: it %s", (text, why) => {
	expect(() => json.set(text, PATH, SERVER)).toThrow(why);
});

test("a text that is nested too deeply is refused", () => {
	const text = `{"a": ${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
	expect(() => json.parse(text)).toThrow("is nested too deeply");
});

/** Configurations as people and programs write them. */
const blank = fc.constantFrom(
	"",
	" ",
	"\n",
	"\n\t",
	"\r\n  ",
	" /* c, { */ ",
	" // it's \" } ,\n ",
);
const scalar = fc.oneof(
	fc.integer().map(String),
	fc.boolean().map(String),
	fc.string().map((text) => JSON.stringify(text)),
);
const { object } = fc.letrec<{ value: string; object: string }>((tie) => ({
	value: fc.oneof({ depthSize: "small" }, scalar, scalar, tie("object")),
	object: fc
		.tuple(
			fc.uniqueArray(
				fc.tuple(
					fc.constantFrom("a", "b", "mcpServers", "strata", "//", "__proto__"),
					tie("value"),
				),
				{ maxLength: 4, selector: ([key]) => key },
			),
			blank,
			blank,
			blank,
			fc.boolean(),
		)
		.map(([entries, open, between, close, isTrailing]) => {
			const pairs = entries.map(([key, value]) => `${JSON.stringify(key)}:${between}${value}`);
			const comma = isTrailing && pairs.length > 0 ? "," : "";
			return `{${open}${pairs.join(`${between},${open}`)}${comma}${close}}`;
		}),
}));
const document = fc.tuple(blank, object, blank).map((parts) => parts.join(""));

function commentsIn(text: string): string[] {
	const tokens = text.match(/"(?:\\.|[^"\\])*"|\/\/[^\r\n]*|\/\*[\s\S]*?\*\//g) ?? [];
	return tokens.filter((one) => one.startsWith("/")).map((one) => one.trimEnd());
}

test("whatever a file looks like, its values, comments and order stay, and removing a key gives them back", () => {
	const server = fc.constantFrom<Json>(SERVER, 1, "x", []);
	fc.assert(
		fc.property(document, server, (text, value) => {
			const before = json.parse(text);
			if (typeof before.mcpServers !== "object" && before.mcpServers !== undefined) return;
			const servers = (before.mcpServers ?? {}) as JsonObject;
			const after = json.set(text, PATH, value);
			const set = json.parse(after);
			expect(set.mcpServers).toEqual({ ...servers, strata: value });
			const order = Object.keys(before);
			expect(Object.keys(set).filter((key) => order.includes(key))).toEqual(order);
			// Comments in a value that is replaced go with it.
			if (Object.hasOwn(servers, "strata")) return;
			expect(commentsIn(after)).toEqual(commentsIn(text));
			const gone = json.remove(after, PATH);
			expect(json.parse(gone)).toEqual({ ...before, mcpServers: servers });
			expect(commentsIn(gone)).toEqual(commentsIn(text));
		}),
		{ numRuns: runs(2_000) },
	);
});

test("a key that was set on its own lines is removed without a trace", () => {
	const unit = fc.constantFrom("\t", "  ", "    ");
	const values = fc.dictionary(fc.constantFrom("a", "b", "c"), fc.integer(), { minKeys: 1 });
	fc.assert(
		fc.property(values, unit, fc.boolean(), (servers, indent, isWindows) => {
			const lines = JSON.stringify({ x: 1, mcpServers: servers }, null, indent);
			const text = isWindows ? lines.replaceAll("\n", "\r\n") : lines;
			expect(json.remove(json.set(text, PATH, SERVER), PATH)).toBe(text);
		}),
		{ numRuns: runs(200) },
	);
});
