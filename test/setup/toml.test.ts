import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/setup/formats/format.ts";
import { toml } from "../../src/setup/formats/toml.ts";
import { fc, runs } from "../support/property.ts";

const SERVER = { command: "/a b/node", args: ["/x/strata.js", "mcp"] };
const PATH = ["mcp_servers", "strata"];
const TABLE = '[mcp_servers.strata]\ncommand = "/a b/node"\nargs = ["/x/strata.js", "mcp"]\n';

test("reads what a configuration of Codex may hold", () => {
	const text = `# top
model = "gpt-5" # name
"quoted key".'and this' = 'C:\\x'
long = """
one \\
   two ""quoted""
"""
raw = '''
a'b'''
list = [ 1, 2.5e3, # two
  [true, false], { x = 0xff, y.z = 1979-05-27T07:32:00Z }, ]
date = 1979-05-27 07:32:00
time = 07:32:00

[mcp_servers.other] # a server
command = "x"
env = { "A" = "\\u00e4\\t" }
[[list_of.tables]]
a = 1
[[list_of.tables]]
a = 2
[list_of.tables.sub]
b = inf
`;
	expect(toml.parse(text)).toEqual({
		...{ model: "gpt-5", "quoted key": { "and this": "C:\\x" } },
		...{ long: 'one two ""quoted""\n', raw: "a'b", date: "1979-05-27 07:32:00", time: "07:32:00" },
		list: ["1", "2.5e3", [true, false], { x: "0xff", y: { z: "1979-05-27T07:32:00Z" } }],
		mcp_servers: { other: { command: "x", env: { A: "ä\t" } } },
		list_of: { tables: [{ a: "1" }, { a: "2", sub: { b: "inf" } }] },
	});
});

test.each([
	["a =", 1],
	["a = 1\na = 2", 2],
	["[a]\n[a]", 2],
	["a = 1 b = 2", 1],
	['a = "x\n', 1],
	['a = """x', 1],
	["a = [1, 2", 1],
	["= 1", 1],
	["[a\nb = 1", 1],
	["a = {}\n[a.b]", 2],
	["a = maybe", 1],
	['a = "\\q"', 1],
	["a = 1\n[a.b]\nc = 2", 2],
])("%j is not valid, and refused with its line", (text, line) => {
	expect(() => toml.parse(text)).toThrow(`is not valid TOML (line ${line})`);
});

describe("a table is added", () => {
	test.each([
		["an empty file", "", TABLE],
		["a file without a last newline", "a = 1", `a = 1\n\n${TABLE}`],
		["comments at the end", "a = 1\n# end\n", `a = 1\n# end\n\n${TABLE}`],
		["carriage returns", "a = 1\r\n", `a = 1\r\n\r\n${TABLE.replaceAll("\n", "\r\n")}`],
		[
			"headers in a text",
			'a = """\n[mcp_servers.strata]\n"""\n',
			`a = """\n[mcp_servers.strata]\n"""\n\n${TABLE}`,
		],
	])("to %s, and removing it gives the file back", (_, before, after) => {
		expect(toml.set(before, PATH, SERVER)).toBe(after);
		const gone = toml.remove(after, PATH);
		expect(gone.trimEnd()).toBe(before.trimEnd());
		expect(toml.parse(gone)).toEqual(toml.parse(before));
	});

	test("in place of the old one, with its sub-tables; comments stay", () => {
		const before = `# a\n[mcp_servers.strata]\ncommand = "old" # mine\n\n[mcp_servers.strata.env]\nA = "1"\n\n[b] # c\n`;
		const after = toml.set(before, PATH, SERVER);
		expect(toml.parse(after)).toEqual({ b: {}, mcp_servers: { strata: SERVER } });
		for (const comment of ["# a", "# mine", "# c"]) expect(after).toContain(comment);
	});
});

test("a key of the root is set before the first table", () => {
	const before = 'model = "x" # name\n\n[a]\nb = 1\n';
	const after = toml.set(before, ["openai_base_url"], "http://127.0.0.1:3142/openai/v1");
	expect(after).toBe(
		'model = "x" # name\nopenai_base_url = "http://127.0.0.1:3142/openai/v1"\n\n[a]\nb = 1\n',
	);
	expect(toml.remove(after, ["openai_base_url"])).toBe(before);
	expect(toml.set("# c\n[a]\n", ["x"], "y")).toBe('x = "y"\n# c\n[a]\n');
});

test.each([
	["mcp_servers = { other = { command = 'x' } }\n"],
	["mcp_servers = 1\n"],
	["[[mcp_servers]]\na = 1\n"],
])("%j cannot be extended, and is refused", (text) => {
	expect(() => toml.set(text, PATH, SERVER)).toThrow();
});

test("an entry in any form is found, and removed if it stands on its own", () => {
	const dotted = 'mcp_servers.strata.command = "x"\nmcp_servers.strata.args = []\na = 1\n';
	expect(toml.parse(dotted).mcp_servers).toEqual({ strata: { command: "x", args: [] } });
	expect(toml.remove(dotted, PATH)).toBe("a = 1\n");
	const inline = '[mcp_servers]\nstrata = { command = "x" }\nb = { command = "y" }\n';
	expect(toml.remove(inline, PATH)).toBe('[mcp_servers]\nb = { command = "y" }\n');
	expect(() => toml.remove('mcp_servers = { strata = { command = "x" } }\n', PATH)).toThrow();
});

const KEYS = ["a", "b", "mcp_servers", "c-d"];
const line = fc.tuple(
	fc.constantFrom(...KEYS),
	fc.constantFrom("1", '"x"', "'[y]'", '"""\n[z]\n"""', "[\n1, # n\n]", "{ k = 'v' }", "true"),
	fc.constantFrom("", " # c", "\n# [d]"),
);
const table = fc.tuple(
	fc.uniqueArray(line, { selector: ([key]) => key }),
	fc.constantFrom(...KEYS, undefined),
);
const document = fc
	.tuple(
		fc.uniqueArray(table, { selector: ([, name]) => name, maxLength: 4 }),
		fc.constantFrom("\n", "\r\n"),
	)
	.map(([tables, eol]) =>
		tables
			.toSorted(([, one], [, other]) => Number(one !== undefined) - Number(other !== undefined))
			.map(([lines, name]) => {
				const rows = lines.map(([key, value, comment]) => `${key} = ${value}${comment}\n`);
				return (name === undefined ? "" : `[t.${name}]\n`) + rows.join("");
			})
			.join("\n")
			.replaceAll("\n", eol),
	);

test("whatever a file looks like, all else stays, and removing the table leaves what was there", () => {
	fc.assert(
		fc.property(document, (text) => {
			const before = toml.parse(text);
			const others = (before.mcp_servers ?? {}) as JsonObject;
			if (before.mcp_servers !== undefined) {
				// A value of one statement cannot be extended.
				expect(() => toml.set(text, PATH, SERVER)).toThrow();
				return;
			}
			const after = toml.set(text, PATH, SERVER);
			expect(after.startsWith(text)).toBe(true);
			expect(toml.parse(after)).toEqual({ ...before, mcp_servers: { ...others, strata: SERVER } });
			const gone = toml.remove(after, PATH);
			expect(gone.trimEnd()).toBe(text.trimEnd());
		}),
		{ numRuns: runs(1_000) },
	);
});

test("a byte order mark stays when the first table goes, and a comment behind a value that is replaced", () => {
	expect(toml.remove('\uFEFF[mcp_servers.strata]\ncommand = "x"\n', PATH)).toBe("\uFEFF");
	expect(toml.set('a = "x" # mine\n[b]\n', ["a"], "y")).toBe('a = "y" # mine\n[b]\n');
});

test("a file of a million characters and more is left alone at once, with its limit", () => {
	const keys = (count: number) =>
		Array.from({ length: count }, (_, at) => `key_${at} = ${at}\n`).join("");
	const refused = "has more than 1,000,000 characters";
	expect(() => toml.set(keys(200_000), PATH, SERVER)).toThrow(refused);
	expect(() => toml.remove(keys(200_000), PATH)).toThrow(refused);
	const long = keys(3_000);
	expect(toml.set(long, PATH, SERVER)).toBe(`${long}\n${TABLE}`);
});
