import jsonc from "jsonc-parser";
import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../src/setup/formats/format.ts";
import type { Key } from "../../src/setup/keys.ts";
import { planFile } from "../../src/setup/plan.ts";
import { type FileRecord, recordOf, undoOf } from "../../src/setup/record.ts";
import type { WantedFile } from "../../src/setup/wanted.ts";
import { fc, runs } from "../support/property.ts";

const server = (node = "/bin/node"): Key => ({
	...{ kind: "server", path: ["mcpServers", "strata"] },
	value: { command: node, args: ["/p/bin/strata.js", "mcp"] },
});
const hook = (flags = " --shadow"): Key => ({
	...{ kind: "hook", path: ["hooks", "PostToolUse"], isItem: true },
	value: {
		matcher: "Read|Bash",
		hooks: [{ type: "command", command: `/bin/node /p/bin/strata.js hook claude-code${flags}` }],
	},
});
const address: Key = { kind: "value", path: ["env", "BASE_URL"], value: "http://127.0.0.1:1" };
const json = (...keys: Key[]): WantedFile => ({ path: "/a.json", format: "json", keys });
const toml: WantedFile = {
	...{ path: "/a.toml", format: "toml" },
	keys: [{ ...server(), path: ["mcp_servers", "strata"] }],
};

/** Plans and records a change, as setup does. */
function setUp(wanted: WantedFile, before: string | undefined, previous?: FileRecord) {
	const plan = planFile(wanted, before, previous?.keys ?? []);
	const after = plan.after ?? "";
	const change = { agent: "a", wanted, before, after, keys: plan.keys, folders: [] };
	return { plan, after, record: recordOf(change, previous) };
}

const TEXTS = [
	["no file", undefined],
	["an empty file", ""],
	["an empty object", "{}"],
	["blanks in an object", "{ }\n"],
	["one line", '{"a":{"b":[1,2]}}'],
	["tabs, comments and a trailing comma", '{\n\t// one\n\t"a": 1, // two\n}\n'],
	["carriage returns", '{\r\n  "a": 1\r\n}\r\n'],
	["a byte order mark", '\uFEFF{\n  "a": 1\n}'],
	["other servers", '{\n  "mcpServers": { "x": { "command": "y" } }\n}\n'],
	["other hooks", '{"hooks": {"PostToolUse": [{"matcher": "*", "hooks": []}], "Stop": []}}'],
	["letters of every kind", '{"ä": "𝒳", "b": "\\u2028"}\n'],
] as const;

describe.each(TEXTS)("with %s", (_, before) => {
	const keys = [server(), hook(), address];

	test("setup and undo leave it byte for byte", () => {
		const { plan, after, record } = setUp(json(...keys), before);
		expect(plan.notes).toEqual([]);
		expect(plan.keys).toHaveLength(3);
		expect(undoOf(record, after)).toEqual({ kind: "restored", text: before });
	});

	test("the second setup does nothing", () => {
		const { after, record } = setUp(json(...keys), before);
		const again = planFile(json(...keys), after, record.keys);
		expect(again).toMatchObject({ keys: [], notes: [], after });
	});

	test("after the agent wrote its file, our keys go and nothing else", () => {
		const { after, record } = setUp(json(...keys), before);
		const parsed = jsonc.parse(after);
		const own = { type: "stdio", ...parsed.mcpServers.strata, env: {} };
		const servers = { ...parsed.mcpServers, strata: own, added: { command: "z" } };
		const rewritten = JSON.stringify({ ...parsed, count: 7, mcpServers: servers }, null, 4);
		const undone = undoOf(record, rewritten);
		expect(undone.kind).toBe("removed");
		const original = jsonc.parse(before?.trim() || "{}");
		expect(JSON.parse((undone as { text: string }).text)).toEqual({
			...original,
			count: 7,
			mcpServers: { ...original.mcpServers, added: { command: "z" } },
		});
	});
});

test("a file that setup made and that is empty without our keys is deleted, however it was written", () => {
	const { after, record } = setUp(json(server()), undefined);
	expect(undoOf(record, JSON.stringify(JSON.parse(after)))).toEqual({
		kind: "removed",
		text: undefined,
	});
});

test("TOML: setup and undo leave every byte; after a rewrite our table goes with its sub-tables", () => {
	const before = '# mine\r\nmodel = "x"\r\n';
	const { after, record } = setUp(toml, before);
	expect(undoOf(record, after)).toEqual({ kind: "restored", text: before });
	const rewritten = `${after.replaceAll("\r\n", "\n")}startup = 1\n\n[mcp_servers.strata.env]\nA = "b"\n\n[new]\nx = 1\n`;
	const undone = undoOf(record, rewritten) as { text: string };
	expect(undone.text).toBe('# mine\nmodel = "x"\n\n[new]\nx = 1\n');
});

test("a new path of strata replaces the old one, and undo still gives the first text back", () => {
	const before = '{\n  "a": 1\n}\n';
	const first = setUp(json(server("/old/node"), hook()), before);
	const second = setUp(json(server("/new/node"), hook("")), first.after, first.record);
	expect(second.plan).toMatchObject({ isReplacing: true, notes: [] });
	expect(second.after).toContain("/new/node");
	expect(second.after).not.toContain("/old/node");
	expect(second.after).not.toContain("--shadow");
	expect(undoOf(second.record, second.after)).toEqual({ kind: "restored", text: before });
	// Written by the agent between the two: bytes of that time are not what the user had.
	const written = first.after.replace('"a": 1', '"a": 2');
	const third = setUp(json(server("/new/node"), hook("")), written, first.record);
	expect(undoOf(third.record, third.after)).toEqual({ kind: "removed", text: '{\n  "a": 2\n}\n' });
});

test("a new path of strata keeps what the user added to our server, and its comments", () => {
	const first = setUp(json(server("/old/node")), undefined);
	const extended = first.after.replace("\n    }", ',\n      "env": { "A": "b" } // mine\n    }');
	const second = setUp(json(server("/new/node")), extended, first.record);
	expect(second.plan).toMatchObject({ isReplacing: true, isExtended: true, notes: [] });
	expect(second.after).toBe(extended.replace("/old/node", "/new/node"));

	const inToml = (node: string): WantedFile => ({
		...{ path: "/a.toml", format: "toml" },
		keys: [{ ...server(node), path: ["mcp_servers", "strata"] }],
	});
	const table = setUp(inToml("/old/node"), 'model = "x"\n');
	const more = "startup_timeout_sec = 20 # slow\n\n# mine\n[mcp_servers.strata.env]\nA = 'b'\n";
	const longer = setUp(inToml("/new/node"), table.after + more, table.record);
	expect(longer.plan).toMatchObject({ isExtended: true, notes: [] });
	expect(longer.after).toBe(table.after.replace("/old/node", "/new/node") + more);
});

describe("what is not ours is left alone with one sentence:", () => {
	test.each([
		['{"mcpServers": {"strata": {"command": "other"}}}', 'has another server called "strata"'],
		['{"mcpServers": []}', "has something else than an object at mcpServers"],
		['{"mcpServers": {"x": 1}', "is not valid JSON (line 1)"],
		["[1]", "holds something else than a JSON object"],
		["not json", "is not valid JSON (line 1)"],
		[
			'{"mcpServers": {"strata": {"command": "strata", "args": ["mcp"]}}}',
			"was not set up by strata setup",
		],
	])("%s", (text, why) => {
		const plan = planFile(json(server()), text, []);
		expect(plan).toMatchObject({ keys: [], after: text });
		expect(plan.notes).toHaveLength(1);
		expect(plan.notes[0]).toContain(why);
		expect(plan.notes[0]).toMatch(/^\/a\.json is left alone: [^.]*(\.json)?[^.]*$/);
	});

	test.each([
		['{"hooks": {"PostToolUse": {}}}', "something else than a list at hooks.PostToolUse"],
		['{"hooks": 1}', "something else than an object at hooks"],
		['{"env": {"BASE_URL": "https://gateway.example.org"}}', "sets env.BASE_URL to another value"],
	])("%s", (text, why) => {
		const plan = planFile(json(text.includes("env") ? address : hook()), text, []);
		expect(plan).toMatchObject({ keys: [], after: text, notes: [expect.stringContaining(why)] });
	});

	test.each(["mcp_servers = {}\n", 'mcp_servers = { other = { command = "x" } }\n'])(
		"a valid file is not called invalid: %s",
		(text) => {
			const plan = planFile(toml, text, []);
			const note = "/a.toml is left alone: it has a form that cannot be edited exactly";
			expect(plan).toMatchObject({ keys: [], after: text, notes: [note] });
		},
	);

	test.each([
		["json", `{"a": ${"[".repeat(4_000)}${"]".repeat(4_000)}}`],
		["toml", `[${"a.".repeat(20_000)}a]\n`],
	] as const)("%s that is nested deeper than the stack", (format, text) => {
		const plan = planFile({ ...json(server()), format }, text, []);
		expect(plan).toMatchObject({ keys: [], after: text });
		expect(plan.notes).toEqual([expect.stringMatching(/is left alone: .*nested too deeply$/)]);
	});

	test("a file that became unreadable is left alone by undo", () => {
		const { record } = setUp(json(server()), "{}");
		expect(undoOf(record, "{ broken")).toEqual({
			kind: "left",
			why: "it is not valid JSON (line 1)",
		});
	});
});

test("undo keeps a server that another program put in place of ours, and other hooks of our group", () => {
	const { after, record } = setUp(json(server(), hook()), "{}");
	const value = JSON.parse(after);
	value.mcpServers.strata = { command: "other" };
	value.hooks.PostToolUse[0].hooks.push({ type: "command", command: "mine" });
	const undone = undoOf(record, JSON.stringify(value)) as { text: string };
	expect(JSON.parse(undone.text)).toEqual({
		mcpServers: { strata: { command: "other" } },
		hooks: {
			PostToolUse: [{ matcher: "Read|Bash", hooks: [{ type: "command", command: "mine" }] }],
		},
	});
});

test("undo of what is gone already does nothing", () => {
	const { record } = setUp(json(server()), "{}");
	expect(undoOf(record, undefined)).toEqual({ kind: "nothing" });
	expect(undoOf(record, '{"a": 1}')).toEqual({ kind: "nothing" });
});

const key = fc.constantFrom("a", "mcpServers", "hooks", "env", "strata");
const value = fc.letrec<{ value: Json }>((tie) => ({
	value: fc.oneof(
		{ depthSize: "small" },
		fc.integer(),
		fc.string(),
		fc.dictionary(key, tie("value")),
		fc.array(tie("value"), { maxLength: 2 }),
	),
})).value;

test("whatever the file and however it is rewritten, undo gives the bytes or the values back", () => {
	const indent = fc.constantFrom(0, 2, "\t");
	const root = fc.dictionary(key, value) as fc.Arbitrary<JsonObject>;
	fc.assert(
		fc.property(root, indent, indent, fc.integer(), (original, one, other, count) => {
			const before = JSON.stringify(original, null, one);
			const { plan, after, record } = setUp(json(server(), hook(), address), before);
			if (plan.keys.length === 0) return;
			expect(undoOf(record, after)).toEqual({ kind: "restored", text: before });
			const rewritten = JSON.stringify({ ...JSON.parse(after), count }, null, other);
			if (rewritten === after) return;
			const undone = undoOf(record, rewritten) as { text: string };
			expect(JSON.parse(undone.text)).toEqual({ ...JSON.parse(before), count });
		}),
		{ numRuns: runs(1_000) },
	);
});
