import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { timeOf } from "../../src/importers/fields.ts";
import { readSessions, type SessionFileOptions } from "../../src/importers/index.ts";
import { fc, runs } from "../support/property.ts";
import { tempDir } from "../support/temp.ts";
import { billedIn, billsOf } from "./billed.ts";
import { ClaudeWriter } from "./claude-writer.ts";
import { CodexWriter } from "./codex-writer.ts";
import { OpencodeSession } from "./opencode-writer.ts";

const USAGE = { input: 5000, output: 10 };
const GEMINI = '{"sessionId":"s","projectHash":"h"}';
const HASH = "0".repeat(64);
const LINE = { parentUuid: null, sessionId: "s" };
const DEEP = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;

test("a time that no calendar holds is none", () => {
	for (const value of [1e300, -1e300, Number.NaN, "+999999-01-01"]) {
		expect(timeOf(value)).toBeUndefined();
	}
	expect(timeOf("2026-07-01T08:00:00Z")).toBe(Date.UTC(2026, 6, 1, 8));
});

describe("a hostile file", () => {
	test("with a line of 10 MB is read like any other", { tags: "slow" }, async () => {
		const writer = new CodexWriter().turn().user("x".repeat(10_000_000)).assistant("b");
		expect(await billedIn(writer.count(USAGE).save())).toEqual([[5000, 0, 0]]);
	});

	test("whose first line is longer than 1 MiB is read line by line", async () => {
		const writer = new ClaudeWriter();
		writer.user("x".repeat(2_000_000));
		writer.text("m1", "a", { write: 9000 });
		const file = writer.save();
		expect(await billsIn(file, { maxDocumentBytes: 1_000_000 })).toEqual([[3, 0, 9000]]);
		expect(await billsIn(file, { maxLineBytes: 1_500_000 })).toEqual([[3, 0, 9000]]);
	});

	test("that is one document in one long line is read as a document", async () => {
		const session = new OpencodeSession().user("x".repeat(2_000_000));
		const document = session.assistant("b", { input: 5, write: 5000 }).document();
		for (const content of [document, `${document}\n`]) {
			expect(await billsIn(save(content), { maxLineBytes: 1_500_000 })).toEqual([[5, 0, 5000]]);
		}
	});

	test("may begin with many lines that belong to no conversation", async () => {
		const writer = new ClaudeWriter();
		for (let at = 0; at < 500; at++) writer.raw('{"type":"queue-operation","sessionId":"s1"}');
		writer.user("a");
		writer.text("m1", "b", { write: 9000 });
		expect(await billsIn(writer.save())).toEqual([[3, 0, 9000]]);
	});

	test("of many lines that are not from an agent is refused before its end", async () => {
		const writer = new ClaudeWriter();
		for (let at = 0; at < 20_000; at++) writer.raw('{"a":1}');
		writer.user("a");
		writer.text("m1", "b", { write: 9000 });
		await expect(readSessions(writer.save())).rejects.toThrow("none of its first lines");
	});

	test("with recorded requests that share nothing takes bounded work", {
		tags: "slow",
	}, async () => {
		const hash = (at: number) => at.toString(16).padStart(64, "0");
		const writer = new ClaudeWriter();
		writer.user("a");
		const request = { type: "api-request", shapeHash: hash(0), params: {}, cacheControl: [] };
		const record = (line: object) => writer.raw(JSON.stringify({ ...request, ...line }));
		writer.raw(JSON.stringify({ type: "api-request-shape", shapeHash: hash(0), shape: {} }));
		const tail = Array.from({ length: 20_000 }, (_, at) => hash(at));
		record({ id: "long", keep: 0, tail });
		for (let at = 0; at < 2_000; at++) {
			record({ id: `r${at}`, base: "long", keep: at % 2 ? 20_000 : 1, tail: [] });
			writer.text(`m${at}`, "b", { write: 9000 }, { requestRef: `r${at}` });
			if (at % 2) writer.compaction({});
		}
		const [session] = await readSessions(writer.save());
		expect(session?.entries.length).toBeLessThan(1_100_000);
		expect(session?.entries.filter(({ type }) => type === "assistant")).toHaveLength(2_000);
	});

	test.each([
		{ shapeHash: 1, shape: {} },
		{ type: "api-request", id: "r", keep: 1, tail: ["x"] },
		{ type: "api-request", id: "r", keep: -1, tail: [] },
		{ type: "api-request", id: "r", keep: 1e300, tail: [], base: "r" },
		{ type: "api-request", id: "r".repeat(1000), keep: 0, tail: [] },
		{ type: "api-request-blob", hash: "x", message: null },
		{ type: "api-request-blob", hash: "0".repeat(64), message: { content: [null, 7, {}] } },
	])("with a record such as %o is rebuilt from its lines", async (record) => {
		const writer = new ClaudeWriter();
		writer.user("a");
		writer.raw(JSON.stringify({ type: "api-request-shape", ...record }));
		writer.text("m1", "b", { write: 9000 }, { requestRef: "r" });
		expect(await billsIn(writer.save())).toEqual([[3, 0, 9000]]);
	});

	test("with lines beyond the bound loses only these", async () => {
		const writer = new CodexWriter().turn().user("x".repeat(20_000)).assistant("b").count(USAGE);
		const [session] = await readSessions(writer.save(), { maxLineBytes: 10_000 });
		expect(session?.skipped).toMatchObject({ tooLong: 1, damaged: 0 });
		expect(session?.entries.at(-1)).toMatchObject({ type: "assistant" });
	});

	test.each([
		[
			"Codex",
			`{"type":"session_meta","payload":{"id":"t"}}`,
			`{"type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":${DEEP}}}`,
		],
		[
			"opencode",
			`{"info":{"id":"ses_1"},"messages":[]}`,
			`{"info":{"id":"ses_1"},"messages":[{"info":{"role":"assistant"},"parts":[{"type":"tool","state":{"input":${DEEP}}}]}]}`,
		],
		[
			"Gemini CLI",
			GEMINI,
			`{"id":"g","type":"gemini","toolCalls":[{"id":"c","name":"n","args":${DEEP}}]}`,
		],
	])("of %s with deep JSON counts it as damaged", async (_, header, line) => {
		const [session] = await readSessions(save(`${header}\n${line}\n`));
		expect(session?.skipped.damaged).toBe(1);
	});

	test("with broken UTF-8 is read", async () => {
		const writer = new CodexWriter().turn().user("a~b").assistant("c").count(USAGE);
		const bytes = Buffer.from(`${writer.lines.join("\n")}\n`);
		bytes[bytes.indexOf("~")] = 0xff;
		expect(await billedIn(save(bytes))).toEqual([[5000, 0, 0]]);
	});

	test("a document that was cut off counts as damaged, and those before it are read", async () => {
		const whole = new OpencodeSession().user("a").assistant("b", { input: 5, write: 5000 });
		const content = `${whole.document(2)}\n${whole.document(2).slice(0, -100)}`;
		const [session] = await readSessions(save(content));
		expect(session?.skipped.damaged).toBe(1);
		expect(session?.entries).toHaveLength(2);
	});

	test("braces and quotes in texts do not end a document", async () => {
		const session = new OpencodeSession().user('}"]\\" {').assistant('\\"}', { input: 5 });
		expect(await billedIn(session.save())).toEqual([[5, 0, 0]]);
	});

	test("that is one document larger than the bound is refused", async () => {
		const file = new OpencodeSession().user("x".repeat(20_000)).save();
		await expect(readSessions(file, { maxDocumentBytes: 10_000 })).rejects.toThrow("larger than");
	});

	test("of a million closing brackets is refused at once", async () => {
		const content = `{\n${"}".repeat(1_000_000)}`;
		await expect(readSessions(save(content))).rejects.toThrow("not a session");
	});

	test("messages beyond the bound of a document are counted, not kept", async () => {
		const session = new OpencodeSession();
		for (let at = 0; at < 20; at++) session.user("x");
		const [read] = await readSessions(session.save(), { maxEntries: 6 });
		expect(read?.entries).toHaveLength(5);
		expect(read?.skipped.surplus).toBe(15);
	});

	test("what waits for a bill that never comes is bounded, too", async () => {
		const writer = new CodexWriter().turn().assistant("no bill");
		for (let at = 0; at < 20; at++) writer.user("x");
		const [read] = await readSessions(writer.save(), { maxEntries: 6 });
		expect(read?.entries.length).toBeLessThan(8);
		expect(read?.skipped.surplus).toBeGreaterThan(14);
	});

	test("heads and requests that Claude Code recorded are bounded as well", async () => {
		const hashOf = (at: number) => String(at).padStart(64, "0");
		const tools = Array.from({ length: 10 }, (_, at) => ({ name: `tool ${at}` }));
		const heads = (at: number) => ({ shapeHash: hashOf(at), shape: { system: [], tools } });
		const requests = (at: number) => ({ id: `r${at}`, keep: 0, tail: [] });
		const kinds = { "api-request-shape": heads, "api-request": requests };
		for (const [type, fields] of Object.entries(kinds)) {
			const writer = new ClaudeWriter();
			writer.user("x");
			writer.text("m", "y", {});
			for (let at = 0; at < 300; at++) writer.raw(JSON.stringify({ type, ...fields(at) }));
			const [read] = await readSessions(writer.save(), { maxBlocks: 100 });
			expect(read?.skipped.surplus).toBeGreaterThan(100);
		}
	});

	test("documents without messages are bounded as well", async () => {
		const one = new OpencodeSession().document();
		const sessions = await readSessions(save(`${one}\n`.repeat(30)), { maxEntries: 10 });
		expect(sessions).toHaveLength(10);
	});

	test("sessions that are parents of each other are all sub-agents", async () => {
		const a = new OpencodeSession("ses_a", { parentID: "ses_b" }).user("x");
		const b = new OpencodeSession("ses_b", { parentID: "ses_a" }).user("x");
		const sessions = await readSessions(save(`${a.document()}\n${b.document()}\n`));
		expect(sessions.map(({ subagent }) => subagent)).toEqual(["ses_a", "ses_b"]);
	});

	test("a chat that rewinds to what it does not have begins again", async () => {
		const rewind = '{"$rewindTo":"nowhere"}\n{"$rewindTo":"nowhere"}';
		const answer = '{"id":"g","type":"gemini","tokens":{"input":5000}}';
		expect(await billedIn(save(`${GEMINI}\n${rewind}\n${answer}\n`))).toEqual([[5000, 0, 0]]);
	});

	test("counts that are no counts are 0", async () => {
		const bad = { input: -5, cached: 1e300, output: Number.NaN };
		const writer = new CodexWriter().turn().user("a").assistant("b").count(bad);
		writer.user("c").assistant("d").record("r1", { input: 10, cached: 9000, output: 1 });
		expect(await billedIn(writer.save())).toEqual([[0, 10, 0]]);
	});

	test("with anything for any field is read or refused, and never crashes", async () => {
		const keys = [
			"type",
			"payload",
			"info",
			"messages",
			"parts",
			"id",
			"role",
			"content",
			"output",
		];
		const more = ["tokens", "state", "time", "usage", "total_token_usage", "replacement_history"];
		const claude = ["tail", "keep", "base", "shape", "message", "cacheControl", "params", "path"];
		const { value } = fc.letrec((tie) => ({
			value: fc.oneof(
				{ depthSize: "small", withCrossShrink: true },
				fc.constantFrom("message", "assistant", "token_count", "gemini", "tool", null, 0, 7, true),
				fc.array(tie("value"), { maxLength: 3 }),
				fc.dictionary(fc.constantFrom(...keys, ...more, ...claude, "$snapshot"), tie("value"), {
					maxKeys: 5,
				}),
			),
		}));
		const header = fc.constantFrom(
			'{"type":"session_meta","payload":{"id":"t"}}',
			'{"info":{"id":"ses_1"},"messages":[]}',
			GEMINI,
			'{"uuid":"u","parentUuid":null,"sessionId":"s"}',
		);
		const type = fc.constantFrom("response_item", "event_msg", "compacted", "token_usage_record");
		await fc.assert(
			fc.asyncProperty(header, fc.array(fc.tuple(type, value)), async (first, given) => {
				const lines = given.flatMap(([kind, payload]) => [
					JSON.stringify({ type: kind, payload }),
					JSON.stringify({ id: "m", type: "gemini", ...Object(payload) }),
					JSON.stringify({ info: { role: "assistant", ...Object(payload) }, parts: [payload] }),
					...["user", "assistant", "system", "attachment"].map((one) =>
						JSON.stringify({ type: one, uuid: one, message: payload, requestRef: "r", ...LINE }),
					),
					...["api-request", "api-request-shape", "api-request-blob"].map((one) =>
						JSON.stringify({ id: "r", shapeHash: HASH, hash: HASH, type: one, ...Object(payload) }),
					),
				]);
				await billedIn(save([first, ...lines].join("\n")));
			}),
			{ numRuns: runs(100) },
		);
	});
});

async function billsIn(file: string, options?: SessionFileOptions): Promise<number[][]> {
	return (await readSessions(file, options)).flatMap((session) => billsOf(session));
}

function save(content: string | Buffer): string {
	const file = join(tempDir(), "hostile.jsonl");
	writeFileSync(file, content);
	return file;
}
