import {
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	realpathSync,
	writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import type { ConversationPart, ConversationStore } from "../../../src/server/journal/journal.ts";
import { Conversation } from "../../../src/server/sessions/conversation.ts";
import { restoreConversation } from "../../../src/server/sessions/restore-conversation.ts";
import { tempDir } from "../../support/temp.ts";

const header = '{"type":"session","id":"p","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/x"}';
const lines = [header, '{"type":"message","id":"1"}', '{"type":"message","id":"2"}'];
const name = { principal: "ann", sessionId: "s" };

function storeOf(entries: readonly string[]): ConversationStore {
	return { keep: async () => {}, entries: async () => [...entries] };
}

function recordIn(cwd: string, more: object = {}) {
	return {
		principal: "ann",
		id: "s",
		cwd,
		createdAtMs: 1,
		settings: { piSessionId: "p" },
		...more,
	};
}

describe("a conversation of a session that another server had", () => {
	test("is written as pi's file, under the name that pi gives it", async () => {
		const { record, restored } = await restoreConversation(recordIn(tempDir()), {
			store: storeOf(lines),
			agentDir: tempDir(),
		});
		expect(record.file).toMatch(/2026-01-02T03-04-05-678Z_p\.jsonl$/);
		expect(readFileSync(record.file as string, "utf8")).toBe(`${lines.join("\n")}\n`);
		expect(restored).toEqual({ id: "p", count: 3 });
	});

	test("goes on in an older file, and sets one with other content aside", async () => {
		const [cwd, agentDir] = [tempDir(), tempDir()];
		const given = recordIn(cwd, { file: "/elsewhere/a_p.jsonl" });
		const { record } = await restoreConversation(given, {
			store: storeOf(lines.slice(0, 2)),
			agentDir,
		});
		const file = record.file as string;
		await restoreConversation(given, { store: storeOf(lines), agentDir });
		expect(readdirSync(dirname(file))).toEqual(["a_p.jsonl"]);
		const own = `${lines[0]}\n{"type":"message","id":"unknown"}\n`;
		writeFileSync(file, own);
		await restoreConversation(given, { store: storeOf(lines), agentDir });
		expect(readFileSync(file, "utf8")).toBe(`${lines.join("\n")}\n`);
		expect(readFileSync(`${file}.old-1`, "utf8")).toBe(own);
	});

	test("leaves a file alone that a pi in a terminal has open, and goes on in one beside it", async () => {
		const [cwd, agentDir] = [tempDir(), tempDir()];
		const given = recordIn(cwd, { file: "/elsewhere/a_p.jsonl" });
		const { record } = await restoreConversation(given, {
			store: storeOf(lines.slice(0, 2)),
			agentDir,
		});
		const file = record.file as string;
		const own = `${lines[0]}\n{"type":"message","id":"of the terminal"}\n`;
		writeFileSync(file, own);
		const openInPi = new Map([[realpathSync(file), 1]]);
		const beside = await restoreConversation(given, { store: storeOf(lines), agentDir, openInPi });
		expect(readFileSync(file, "utf8")).toBe(own);
		expect(beside.record.file).toBe(file.replace(".jsonl", "-1.jsonl"));
		expect(readFileSync(beside.record.file as string, "utf8")).toBe(`${lines.join("\n")}\n`);
	});

	test("without entries keeps a file that is there, and names none that is not", async () => {
		const cwd = tempDir();
		const file = `${tempDir()}/a_p.jsonl`;
		mkdirSync(dirname(file), { recursive: true });
		const missing = await restoreConversation(recordIn(cwd, { file }), {
			store: storeOf([]),
			agentDir: tempDir(),
		});
		expect(missing.record).not.toHaveProperty("file");
		writeFileSync(file, header);
		const there = await restoreConversation(recordIn(cwd, { file }), {
			store: storeOf([]),
			agentDir: tempDir(),
		});
		expect(there.record.file).toBe(file);
		expect(existsSync(file)).toBe(true);
	});
});

describe("a conversation of a session that only this server had", () => {
	const store = storeOf(lines);
	const whole = `${lines.join("\n")}\n`;

	test("is written again where the file lacks entries, and the file is set aside if it has others", async () => {
		const [cwd, folder] = [tempDir(), tempDir()];
		const file = `${folder}/a_p.jsonl`;
		const given = recordIn(cwd, { file });
		const options = { store, agentDir: tempDir(), isOwn: true };
		expect(await restoreConversation(given, options)).toMatchObject({
			record: { file },
			isRewritten: true,
		});
		writeFileSync(file, `${lines[0]}\n`);
		expect(await restoreConversation(given, options)).toMatchObject({ isRewritten: true });
		expect(readFileSync(file, "utf8")).toBe(whole);
		expect(readdirSync(folder)).toEqual(["a_p.jsonl"]);
		writeFileSync(file, `${lines[0]}\n{"type":"message","id":"other"}\n`);
		expect(await restoreConversation(given, options)).toMatchObject({ isRewritten: true });
		expect(readFileSync(file, "utf8")).toBe(whole);
		expect(readdirSync(folder).sort()).toEqual(["a_p.jsonl", "a_p.jsonl.old-1"]);
	});

	test.each([
		["has more", `${whole}{"type":"message","id":"3"}\n`],
		["is written otherwise", `${lines.join("\n").replaceAll(",", ", ")}\nno entry\n`],
	])("goes on in a file that %s", async (_, content) => {
		const file = `${tempDir()}/a_p.jsonl`;
		writeFileSync(file, content);
		const given = recordIn(tempDir(), { file });
		const options = { store, agentDir: tempDir(), isOwn: true };
		expect(await restoreConversation(given, options)).toEqual({
			record: given,
			restored: { id: "p", count: 3 },
		});
		expect(readFileSync(file, "utf8")).toBe(content);
	});
});

describe("the conversation of an open session", () => {
	function open(isRefused = false) {
		const order: string[] = [];
		const parts: ConversationPart[] = [];
		const fileEntries: { type: string; id: string }[] = [{ type: "session", id: "p" }];
		const conversation = new Conversation({
			name,
			store: {
				async keep(part) {
					parts.push(part);
					order.push(`keep ${part.from}+${part.bodies.length}`);
					if (isRefused) throw new Error("refused");
				},
				entries: async () => [],
			},
			manager: () => ({ fileEntries, getHeader: () => fileEntries[0] }) as never,
			emit: ({ type }) => void order.push(type),
		});
		return { conversation, order, parts, fileEntries };
	}

	test("hands an entry over before the event that reports it, though pi emits the event first", async () => {
		const { conversation, order, fileEntries } = open();
		conversation.keep();
		conversation.emit({ type: "agent_start" });
		fileEntries.push({ type: "message", id: "1" });
		await Promise.resolve();
		expect(order).toEqual(["keep 0+1", "keep 1+1", "agent_start"]);
	});

	test("hands over only what is new, and all of another conversation", () => {
		const { conversation, parts, fileEntries } = open();
		conversation.keep();
		conversation.keep();
		fileEntries.push({ type: "message", id: "1" }, { type: "message", id: "2" });
		conversation.keep();
		fileEntries.splice(0, 3, { type: "session", id: "q" }, { type: "message", id: "3" });
		conversation.keep();
		expect(parts.map(({ conversation: id, from, bodies }) => [id, from, bodies.length])).toEqual([
			["p", 0, 1],
			["p", 1, 2],
			["q", 0, 2],
		]);
	});

	test("does not hand over what its file was written from", () => {
		const { conversation, parts, fileEntries } = open();
		fileEntries.push({ type: "message", id: "1" });
		conversation.noteRestored({ id: "p", count: 2 });
		conversation.keep();
		expect(parts).toEqual([]);
		fileEntries.push({ type: "message", id: "2" });
		conversation.keep();
		expect(parts).toMatchObject([{ from: 2, bodies: ['{"type":"message","id":"2"}'] }]);
	});

	test("hands over again what was refused", async () => {
		const { conversation, parts } = open(true);
		conversation.keep();
		await new Promise(setImmediate);
		conversation.keep();
		expect(parts.map(({ from }) => from)).toEqual([0, 0]);
	});
});
