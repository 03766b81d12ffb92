import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readSessionFile } from "../support/read-session-file.ts";
import { tempDir } from "../support/temp.ts";
import { billedIn, billsOf, changesOf, kindsOf } from "./billed.ts";

const HEADER = { sessionId: "s1", projectHash: "h1", startTime: "2026-07-01T08:00:00Z" };
const BILLS = [
	[2000, 4000, 0],
	[1500, 5000, 0],
];

describe("a chat file of Gemini CLI", () => {
	test("has a request for each answer; its input includes what was cached", async () => {
		const file = document([user("u1"), answer("g1", 6000, 4000), answer("g2", 6500, 5000)]);
		expect(await billedIn(file)).toEqual(BILLS);
		expect(await readSessionFile(file)).toMatchObject({ agent: "gemini-cli", session: "s1" });
	});

	test("is the same as lines, where a message is written again whenever it changes", async () => {
		const file = lines([
			user("u1"),
			{ ...answer("g1", 6000, 4000), tokens: null, toolCalls: [] },
			answer("g1", 6000, 4000),
			{ $set: { lastUpdated: "2026-07-01T08:01:00Z" } },
			{ ...answer("g1", 6000, 4000), toolCalls: [CALL] },
			answer("g2", 6500, 5000),
		]);
		const session = await readSessionFile(file);
		expect(billsOf(session)).toEqual(BILLS);
		expect(kindsOf(session)[1]).toEqual(["system", "system", "user", "text", "call", "result"]);
	});

	test("a result that is also a message of its own is sent once, and so is the context at the start", async () => {
		const context = { $set: { messages: [user("context")] } };
		const result = { ...user("r1"), content: CALL.result };
		const file = lines([
			context,
			user("u1"),
			{ ...answer("g1", 6000, 4000), toolCalls: [CALL] },
			result,
			answer("g2", 6500, 5000),
		]);
		const session = await readSessionFile(file);
		expect(billsOf(session)).toEqual(BILLS);
		expect(kindsOf(session)[1]).toEqual([
			"system",
			"system",
			"user",
			"user",
			"text",
			"call",
			"result",
		]);
	});

	test("tokens of tools that the provider runs are part of the prompt", async () => {
		const message = answer("g1", 6000, 4000);
		const file = document([user("u1"), { ...message, tokens: { ...message.tokens, tool: 50 } }]);
		expect(await billedIn(file)).toEqual([[2050, 4000, 0]]);
	});

	test("what is rewound stays billed, and leaves later requests", async () => {
		const session = await readSessionFile(
			lines([
				user("u1"),
				answer("g1", 6000, 4000),
				user("u2"),
				answer("g2", 6500, 5000),
				{ $rewindTo: "u2" },
				user("u3"),
				answer("g3", 6500, 5000),
			]),
		);
		expect(billsOf(session)).toHaveLength(3);
		expect(kindsOf(session)[2]).toEqual(["system", "system", "user", "text", "user"]);
		expect(changesOf(session)[2]).toEqual(["branch"]);
	});

	test("after a rewind, an id may name another message", async () => {
		const session = await readSessionFile(
			lines([
				user("u1"),
				answer("g1", 6000, 4000),
				{ $rewindTo: "u1" },
				user("u1"),
				{ ...answer("g1", 6500, 5000), timestamp: "2026-07-01T08:05:00Z" },
			]),
		);
		expect(billsOf(session)).toEqual(BILLS);
		expect(kindsOf(session)[1]).toEqual(["system", "system", "user"]);
	});

	test("a snapshot takes the place of everything before, and bills nothing again", async () => {
		const kept = answer("g1", 6000, 4000);
		const session = await readSessionFile(
			lines([
				user("u1"),
				kept,
				{ $snapshot: true, messages: [user("summary"), kept] },
				user("u2"),
				answer("g2", 6500, 5000),
			]),
		);
		expect(billsOf(session)).toEqual(BILLS);
		expect(kindsOf(session)[1]).toEqual(["system", "system", "user", "text", "user"]);
		expect(changesOf(session)[1]).toEqual(["compaction"]);
	});

	test("of a sub-agent says so", async () => {
		const file = lines([user("u1"), answer("g1", 6000, 0)], {
			kind: "subagent",
			directories: ["/w"],
		});
		expect(await readSessionFile(file)).toMatchObject({ subagent: "s1", cwd: "/w" });
	});

	test("that moved from a document to lines counts once", async () => {
		const messages = [user("u1"), answer("g1", 6000, 4000)];
		const seen = new Set<string>();
		expect(billsOf(await readSessionFile(document(messages)), seen)).toHaveLength(1);
		expect(billsOf(await readSessionFile(lines(messages)), seen)).toHaveLength(0);
	});

	test("keeps hashes and sizes, never the text", async () => {
		const call = { ...CALL, args: { secret: "secret" }, result: [{ text: "secret" }] };
		const messages = [
			{ ...user("u1"), content: "a secret" },
			{ ...answer("g1", 6000, 0), content: [{ text: "secret" }], toolCalls: [call] },
			{ $snapshot: true, messages: [{ ...user("u2"), content: "secret" }] },
		];
		expect(JSON.stringify(await readSessionFile(lines(messages)))).not.toContain("secret");
	});
});

const CALL = {
	id: "c1",
	name: "read_file",
	args: { file_path: "/w/a.ts" },
	status: "success",
	result: [{ functionResponse: { id: "c1", name: "read_file", response: { output: "text" } } }],
};

function user(id: string) {
	return { id, type: "user", timestamp: "2026-07-01T08:00:01Z", content: [{ text: `say ${id}` }] };
}

function answer(id: string, input: number, cached: number) {
	const tokens = { input, cached, output: 20, thoughts: 5, tool: 0, total: input + 25 };
	const model = "gemini-3.1-pro";
	return {
		id,
		type: "gemini",
		timestamp: "2026-07-01T08:00:09Z",
		content: `answer ${id}`,
		model,
		tokens,
	};
}

function document(messages: readonly object[]): string {
	const file = join(tempDir(), "session-a.json");
	writeFileSync(file, JSON.stringify({ ...HEADER, messages }, null, 2));
	return file;
}

function lines(records: readonly object[], header: object = {}): string {
	const file = join(tempDir(), "session-a.jsonl");
	const all = [{ ...HEADER, ...header }, ...records];
	writeFileSync(file, all.map((record) => `${JSON.stringify(record)}\n`).join(""));
	return file;
}
