import { Check } from "typebox/value";
import { describe, expect, test } from "vitest";
import { commandTable, commandTypes } from "../../src/protocol/command-table.ts";
import { type CommandType, parseCommand } from "../../src/protocol/index.ts";
import { fc, runs } from "../support/property.ts";

/** A valid command of each type. */
const EXAMPLES: Partial<Record<CommandType, object>> = {
	delete_session: { sessionId: "s" },
	switch_session: { sessionId: "s" },
	subscribe: { sessionId: "s", after: 0 },
	unsubscribe: { sessionId: "s" },
	load_session: { sessionPath: "/x.jsonl" },
	get_stored_session: { sessionPath: "/x.jsonl" },
	replay_session: { content: "{}" },
	report_progress: {
		sessionPath: "/x.jsonl",
		isRunning: true,
		message: { timestamp: 1, blocks: [{ index: 0, kind: "text", from: 0, text: "" }] },
		calls: [{ toolCallId: "t", toolName: "bash" }],
	},
	get_conversation: { conversation: 1 },
	prompt: { message: "hello" },
	steer: { message: "hello" },
	follow_up: { message: "hello" },
	extension_ui_response: { requestId: "r", response: { confirmed: true } },
	set_model: { provider: "p", modelId: "m" },
	set_thinking_level: { level: "max" },
	set_steering_mode: { mode: "all" },
	set_follow_up_mode: { mode: "one-at-a-time" },
	set_auto_compaction: { enabled: true },
	set_auto_retry: { enabled: false },
	set_session_name: { name: "Ärger" },
	set_tools: { tools: ["read"] },
	bash: { command: "ls" },
	switch_session_file: { sessionPath: "/x.jsonl" },
	fork: { entryId: "e" },
	navigate_tree: { targetId: "e", options: { summarize: true, label: "l" } },
	get_context_piece: { pieceId: "p" },
	code_search: { query: "q" },
	code_deps: { path: "a.ts" },
	code_usages: { symbol: "A.b" },
};

describe("a command that is right", () => {
	test.each(commandTypes)("%s is taken as it is, with fields that only others know", (type) => {
		const command = {
			...example(type),
			id: "c1",
			dependsOn: ["c0"],
			idempotencyKey: "k",
			novel: 1,
		};
		expect(parseCommand(command)).toEqual({ ok: true, command });
		expect((parseCommand(command) as { command: object }).command).toBe(command);
	});

	test("may have a name from a prototype as its id, and own fields of such names", () => {
		for (const name of ["__proto__", "constructor", "toString"]) {
			const text = `{"type":"list_sessions","id":"${name}","${name}":{"type":"bash"}}`;
			expect(parseCommand(JSON.parse(text))).toMatchObject({ ok: true });
		}
	});

	test("is measured in the units that memory is made of, not in visible characters", () => {
		const accents = "\u0301".repeat(300);
		expect(errorOf({ type: "list_sessions", id: `a${accents}` })).toContain("1 to 256 characters");
		expect(parseCommand({ type: "list_sessions", id: "👍".repeat(128) }).ok).toBe(true);
	});
});

describe("a path", () => {
	const folder = (cwd: string) => ({ type: "create_session", cwd });
	const file = (sessionPath: string) => [
		{ type: "load_session", sessionPath },
		{ type: "replay_session", sessionPath },
		{ type: "switch_session_file", sessionId: "s", sessionPath },
		{ type: "new_session", sessionId: "s", parentSession: sessionPath },
	];
	const exported = (outputPath: string) => ({ type: "export_html", sessionId: "s", outputPath });

	test.each([
		...["/", "/home/me", "C:\\Users\\me", "c:/Users", "\\\\host\\share"].map(folder),
		...["/a/b.jsonl", "C:\\b.jsonl", "D:/b c.jsonl"].flatMap(file),
		...["a.html", "A report-2.1_x.html"].map(exported),
	])("%j is fine", (command) => {
		expect(parseCommand(command)).toEqual({ ok: true, command });
	});

	test.each<[object, string]>([
		...["rel", "./rel", "../rel", "~/x", "C:x", "c", "/a\u0000b"].map((path): [object, string] => [
			folder(path),
			"`cwd` must be",
		]),
		...["b.jsonl", "../b.jsonl", "/a/b.json", "/b.jsonl\n", "/b.jsonl/"].flatMap((path) =>
			file(path).map((command): [object, string] => [
				command,
				"the absolute path of a .jsonl file",
			]),
		),
		...["/etc/x.html", "../x.html", "a/b.html", "a\\b.html", "x.jsonl", ".html", ".x.html"].map(
			(name): [object, string] => [exported(name), "a plain file name that ends in .html"],
		),
	])("%j is refused", (command, text) => {
		expect(errorOf(command)).toContain(text);
	});

	test("of a parent is complained about by the name of its field", () => {
		const command = { type: "new_session", sessionId: "s", parentSession: "x" };
		expect(errorOf(command)).toContain("`parentSession` must be");
	});
});

describe("what is wrong is told", () => {
	test.each<[string, object, string]>([
		[
			"a missing field",
			{ type: "prompt", sessionId: "s" },
			"prompt: `message` is missing; it must be a string of 1 to 200000 characters.",
		],
		[
			"a missing session",
			{ type: "get_state" },
			"get_state: `sessionId` is missing; it must be a string of 1 to 256 characters from a-z A-Z 0-9 _ . - (but not just . or ..).",
		],
		[
			"a session that leaves its folder",
			{ type: "get_state", sessionId: ".." },
			'`sessionId` must be a string of 1 to 256 characters from a-z A-Z 0-9 _ . - (but not just . or ..), not "..".',
		],
		["a session with a separator", { type: "create_session", sessionId: "a/b" }, 'not "a/b".'],
		[
			"a wrong type",
			{ type: "bash", sessionId: "s", command: 7 },
			"bash: `command` must be a string of 1 to 20000 characters, not 7.",
		],
		[
			"too long a text",
			{ type: "bash", sessionId: "s", command: "x".repeat(20_001) },
			`not "${"x".repeat(50)}"… (20001 characters).`,
		],
		[
			"a word that is none of those",
			{ type: "set_thinking_level", sessionId: "s", level: "none" },
			'set_thinking_level: `level` must be one of off, minimal, low, medium, high, xhigh, max, not "none".',
		],
		[
			"a number where it should be whole",
			{ type: "subscribe", sessionId: "s", after: 1.5 },
			"subscribe: `after` must be a whole number from 0 up, not 1.5.",
		],
		[
			"a number out of bounds",
			{ type: "get_command_history", limit: 501 },
			"get_command_history: `limit` must be a whole number from 1 to 500, not 501.",
		],
		[
			"a number that is not exact",
			{ type: "abort", sessionId: "s", ifSessionVersion: 2 ** 53 },
			"`ifSessionVersion` must be a whole number from 0 up",
		],
		[
			"a field inside another",
			{
				type: "prompt",
				sessionId: "s",
				message: "m",
				images: [{ type: "image", data: "aa", mimeType: "text/html" }],
			},
			'prompt: `images[0].mimeType` must be a string of 1 to 100 characters that name an image type, such as image/png, not "text/html".',
		],
		[
			"too many items",
			{ type: "list_sessions", dependsOn: Array(33).fill("a") },
			"list_sessions: `dependsOn` must be an array of at most 32 items, not an array of 33.",
		],
		[
			"null where something should be",
			{ type: "prompt", sessionId: "s", message: null },
			"`message` must be a string of 1 to 200000 characters, not null.",
		],
		[
			"a blank id",
			{ type: "list_sessions", id: " \n" },
			"`id` must be a string of 1 to 256 characters, not blank, not starting with anon:",
		],
		["an id of the server's", { type: "list_sessions", id: "anon:1" }, "not starting with anon:"],
		[
			"an empty key",
			{ type: "list_sessions", idempotencyKey: "" },
			'`idempotencyKey` must be a string of 1 to 256 characters, not blank, not "".',
		],
		[
			"a name with control characters",
			{ type: "set_session_name", sessionId: "s", name: "a\u001b[31m" },
			'not "a\\u001b[31m".',
		],
		[
			"a blank name of a session",
			{ type: "set_session_name", sessionId: "s", name: " \u00a0" },
			"without control characters, not blank",
		],
		["a path with NUL", { type: "code_deps", sessionId: "s", path: "a\u0000" }, "without NUL"],
		[
			"a dialog answer of no kind",
			{ type: "extension_ui_response", sessionId: "s", requestId: "r", response: { yes: 1 } },
			"`response` must be an object with value",
		],
		[
			"a version where there is no session",
			{ type: "create_session", sessionId: "s", ifSessionVersion: 0 },
			"create_session: `ifSessionVersion` is only for commands that act on an open session.",
		],
		[
			"a version on a subscription",
			{ type: "switch_session", sessionId: "s", ifSessionVersion: 0 },
			"`ifSessionVersion` is only",
		],
		[
			"a subscription to nothing",
			{ type: "subscribe" },
			"subscribe: Give `sessionId`, `lifecycle` or `traffic`.",
		],
		[
			"a place in no stream",
			{ type: "subscribe", lifecycle: "own", after: 3 },
			"subscribe: `after` is only allowed with a `sessionId`.",
		],
		[
			"a replay of nothing",
			{ type: "replay_session" },
			"replay_session: Give one of `fileId`, `sessionPath` and `content`.",
		],
		[
			"a replay of two things",
			{ type: "replay_session", sessionPath: "/a.jsonl", content: "b" },
			"Give one of",
		],
		[
			"a time that runs backwards",
			{ type: "get_command_history", fromTimestamp: 2, toTimestamp: 1 },
			"get_command_history: `fromTimestamp` 2 is after `toTimestamp` 1.",
		],
		["a type that is no text", { type: 7, id: "c" }, "A command's `type` must be a string, not 7."],
		["no type", { id: "c" }, "A command's `type` is missing."],
		[
			"only the prototype has a type",
			Object.create({ type: "list_sessions" }),
			"A command's `type` is missing.",
		],
	])("%s", (_, command, text) => {
		expect(errorOf(command)).toContain(text);
	});

	test.each([null, 7, "list_sessions", true, [], [{ type: "list_sessions" }]])(
		"%j is not a command",
		(value) => {
			expect(parseCommand(value)).toMatchObject({
				ok: false,
				response: { command: "unknown", success: false, code: "invalid_command" },
			});
		},
	);

	test.each([
		["get_sate", "get_state"],
		["promtp", "prompt"],
		["setmodel", "set_model"],
		["listsession", "list_sessions"],
	])("%s is unknown, and %s is proposed", (type, meant) => {
		expect(parseCommand({ type })).toMatchObject({
			response: {
				command: type,
				code: "unknown_command",
				error: `There is no command "${type}". Did you mean ${meant}?`,
			},
		});
	});

	test.each(["zebra", "x", "", "__proto__", "constructor", "toString", "hasOwnProperty"])(
		"%j is unknown, and nothing is proposed",
		(type) => {
			expect(parseCommand({ type })).toMatchObject({
				response: { command: type, error: `There is no command ${JSON.stringify(type)}.` },
			});
		},
	);

	test("the id comes back if it is a string of bearable length, and nothing else does", () => {
		const idOf = (id: unknown) => {
			const parsed = parseCommand({ type: "nothing", id });
			return parsed.ok ? undefined : parsed.response.id;
		};
		expect(idOf("c1")).toBe("c1");
		expect(idOf(" ")).toBe(" ");
		expect(idOf(7)).toBeUndefined();
		expect(idOf({})).toBeUndefined();
		expect(idOf("x".repeat(257))).toBeUndefined();
	});

	test("a type of a megabyte is answered in a line", () => {
		const parsed = parseCommand({ type: "x".repeat(2 ** 20) });
		expect(JSON.stringify(parsed).length).toBeLessThan(300);
		expect(parsed).toMatchObject({ response: { command: "unknown", code: "unknown_command" } });
	});

	test("nesting is bounded, however deep it is and wherever", () => {
		const nested = (depth: number) => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`);
		expect(parseCommand({ type: "list_sessions", novel: nested(63) }).ok).toBe(true);
		expect(errorOf({ type: "list_sessions", novel: nested(64) })).toContain("deeper than 64");
		expect(errorOf({ type: "list_sessions", novel: nested(5000) })).toContain("deeper than 64");
	});

	test("the number of parts is bounded", () => {
		const parts = (count: number) => Array.from({ length: count }, () => []);
		expect(parseCommand({ type: "list_sessions", novel: parts(9_998) }).ok).toBe(true);
		const error = errorOf({ type: "list_sessions", novel: parts(9_999) });
		expect(error).toContain("hold more than 10000 objects and arrays");
	});
});

describe("laws", () => {
	test("anything that JSON can say is taken or refused, with one line of error and never an exception", () => {
		const key = fc.constantFrom(
			"type",
			"id",
			"sessionId",
			"dependsOn",
			"__proto__",
			"message",
			"a",
		);
		const frame = fc.dictionary(key, fc.oneof(fc.jsonValue(), fc.constantFrom(...commandTypes)));
		fc.assert(
			fc.property(fc.oneof(frame, fc.jsonValue()), (value) => {
				const parsed = parseCommand(JSON.parse(JSON.stringify(value)));
				if (parsed.ok) return;
				expect(parsed.response).toMatchObject({ type: "response", success: false });
				expect(parsed.response.error).toMatch(/^[^\n]{1,500}$/);
			}),
		);
	});

	test("a command with one field changed is taken exactly if the schema of its fields allows it", () => {
		const value = fc.oneof(
			fc.string({ unit: "grapheme-ascii", maxLength: 5 }),
			fc.string({ unit: "grapheme-ascii", minLength: 250, maxLength: 260 }),
			fc.integer({ min: -2, max: 12 }),
			fc.jsonValue(),
			fc.constantFrom("steer", "settled", "off", true, {}, { value: "x" }, ["a"]),
		);
		const changed = fc.constantFrom(...commandTypes).chain((type) => {
			const names = Object.keys(commandTable[type].fields.properties);
			return fc.record({ type: fc.constant(type), name: fc.constantFrom("none", ...names), value });
		});
		fc.assert(
			fc.property(changed, ({ type, name, value }) => {
				const command: Record<string, unknown> = { ...example(type), [name]: value };
				const error = errorOf(command);
				// Rules about two fields are not part of the schema.
				if (/Give |needs a|is after/.test(error)) return;
				expect([command, error === ""]).toEqual([
					command,
					Check(commandTable[type].fields, command),
				]);
			}),
			{ numRuns: runs(2000) },
		);
	});
});

function example(type: CommandType): object {
	const session = commandTable[type].target === "session" ? { sessionId: "s" } : {};
	return { type, ...session, ...EXAMPLES[type] };
}

/** The error, or nothing when the command is right. */
function errorOf(command: object): string {
	const parsed = parseCommand(command);
	if (parsed.ok) return "";
	expect(parsed.response.code).toBe("invalid_command");
	return parsed.response.error ?? "";
}
