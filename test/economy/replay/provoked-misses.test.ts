import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
	joinReports,
	knownModel,
	type ReplayMissCause,
	replaySessions,
} from "../../../src/economy/replay/index.ts";
import { readSessions } from "../../../src/importers/index.ts";
import { usageOf } from "../../../src/usage/file-usage.ts";
import { ClaudeWriter } from "../../importers/claude-writer.ts";
import { CodexWriter } from "../../importers/codex-writer.ts";
import { OpencodeSession } from "../../importers/opencode-writer.ts";
import { tempDir } from "../../support/temp.ts";
import { SessionWriter } from "./session-writer.ts";

/** Prompt tokens of a request: from the cache, and all others. */
interface Prompt {
	readonly read: number;
	readonly fresh: number;
}

/** What an agent's format can show. Claude Code's files lack tools and system, but have the provider's word. */
interface Conversation {
	ask(prompt: Prompt): void;
	pause(ms: number): void;
	addTool?(): void;
	changeSystem?(): void;
	changeModel(): void;
	changeEffort?(): void;
	compact(): void;
	/** Goes back behind the first answer. A fork of opencode is a session of its own. */
	branch?(): void;
	runSubagent(): void;
	/** The file is replayed alone; a sub-agent may be in another. */
	save(): string;
}

type Provocation = (conversation: Conversation) => void;

const AGENTS: readonly [name: string, start: () => Conversation, effort: ReplayMissCause][] = [
	["pi", () => new PiConversation(), "thinking"],
	["Claude Code", () => new ClaudeConversation(), "thinking"],
	["Codex", () => new CodexConversation(), "thinking"],
	["opencode", () => new OpencodeConversation(), "thinking"],
	["Gemini CLI", () => new GeminiConversation(), "provider"],
];

const HALF_A_DAY_MS = 12.5 * 3_600_000;

/** Head and first message are 50,000 tokens; the head alone is 20,000 of them. */
const REREAD = { read: 52_000, fresh: 2000 };
const HEAD_READ = { read: 20_000, fresh: 34_000 };
const ALL_NEW = { read: 0, fresh: 54_000 };

const UNKNOWN = ["provider", undefined];

describe.each(AGENTS)("a file of %s", (_name, start, effort) => {
	const missesAfter = (provocation: Provocation, third: Prompt) =>
		missesIn(conversationWith(start(), provocation, third));

	test("has no miss without a provocation, nor after a sub-agent in between", async () => {
		expect(await missesAfter(() => {}, REREAD)).toEqual([]);
		expect(await missesAfter((one) => one.pause(60_000), REREAD)).toEqual([]);
		expect(await missesAfter((one) => one.runSubagent(), REREAD)).toEqual([]);
	});

	test("has no miss after a change that lost nothing", async () => {
		for (const change of ["addTool", "changeSystem", "changeEffort"] as const) {
			expect(await missesAfter((one) => one[change]?.(), REREAD)).toEqual([]);
		}
	});

	test("names a lost cache that nothing explains as such", async () => {
		expect(await missesAfter(() => {}, HEAD_READ)).toEqual([UNKNOWN]);
	});

	test("names another model", async () => {
		const found = await missesAfter((one) => one.changeModel(), ALL_NEW);
		expect(found).toEqual([["model", undefined]]);
	});

	test("names a long pause, also if the effort changed meanwhile", async () => {
		const late: Provocation = (one) => one.pause(HALF_A_DAY_MS);
		const both: Provocation = (one) => {
			late(one);
			one.changeEffort?.();
		};
		expect(await missesAfter(late, ALL_NEW)).toEqual([["expired", undefined]]);
		expect(await missesAfter(both, ALL_NEW)).toEqual([["expired", undefined]]);
	});

	test("names a compaction and what took the place of the conversation", async () => {
		const found = await missesAfter((one) => one.compact(), { read: 8000, fresh: 16_000 });
		expect(found).toEqual([["compaction", expect.stringMatching(/summary|user message/)]]);
	});

	test("names another effort, if the file shows it", async () => {
		const found = await missesAfter((one) => one.changeEffort?.(), HEAD_READ);
		expect(found).toEqual([[effort, undefined]]);
	});

	test("names the tool that was added, if the file or the provider shows it", async () => {
		const found = await missesAfter((one) => one.addTool?.(), ALL_NEW);
		const tool = start() instanceof PiConversation ? "tool write" : undefined;
		expect(found).toEqual([start().addTool ? ["tools", tool] : UNKNOWN]);
	});

	test("names another system prompt, if the file or the provider shows it", async () => {
		const found = await missesAfter((one) => one.changeSystem?.(), { read: 1000, fresh: 53_000 });
		const piece = start() instanceof PiConversation ? "system prompt" : undefined;
		expect(found).toEqual([start().changeSystem ? ["system", piece] : UNKNOWN]);
	});

	test("names a branch and its first message, if the file shows it", async () => {
		const found = await missesAfter((one) => one.branch?.(), { read: 20_000, fresh: 33_000 });
		expect(found).toEqual([start().branch ? ["branch", "user message"] : UNKNOWN]);
	});
});

test("takes the provider's word for a stronger cause than the file shows, or for a change in a long pause", async () => {
	const late = (one: Conversation) => one.pause(HALF_A_DAY_MS);
	const effort = (one: Conversation) => one.changeEffort?.();
	for (const shown of [late, effort]) {
		const both: Provocation = (one) => {
			shown(one);
			one.addTool?.();
		};
		const file = conversationWith(new ClaudeConversation(), both, ALL_NEW);
		expect(await missesIn(file)).toEqual([["tools", undefined]]);
	}
});

test("a cause of the provider that we do not know is shown, and explains nothing", async () => {
	for (const type of ["unavailable", "constructor", "__proto__"]) {
		const writer = new ClaudeWriter();
		const more = { diagnostics: { cache_miss_reason: { type } } };
		for (const id of ["m1", "m2"]) {
			writer.user(`question ${id}`);
			writer.text(id, "answer", { write: 50_000 }, { more });
		}
		expect(await missesIn(writer.save())).toEqual([UNKNOWN]);
	}
});

test("an effort that is stated for the first time is no change", async () => {
	const writer = new ClaudeWriter();
	for (const [at, effort] of [undefined, undefined, "high"].entries()) {
		writer.user(`question ${at}`);
		writer.text(`m${at}`, "answer", { write: 50_000 + at }, { effort });
	}
	const causes = (await missesIn(writer.save())).map(([cause]) => cause);
	expect(causes).toEqual(["provider", "provider"]);
});

/** Two requests that use the cache as they should, then the provocation and a third. */
function conversationWith(one: Conversation, provocation: Provocation, third: Prompt): string {
	one.ask({ read: 0, fresh: 50_000 });
	one.ask({ read: 50_000, fresh: 2000 });
	provocation(one);
	one.ask(third);
	return one.save();
}

/** Cause and first differing piece of each miss. `strata usage` must find the same causes. */
async function missesIn(file: string): Promise<(readonly [ReplayMissCause, string | undefined])[]> {
	const sessions = await readSessions(file);
	const { reports } = replaySessions(sessions, { policies: [], modelFor: knownModel });
	const misses = joinReports(reports)?.misses ?? [];
	const bills = await readSessions(file, { detail: "bills" });
	const used = usageOf(bills).sessions.flatMap(({ requests }) => requests);
	expect(used.flatMap(({ miss }) => miss?.cause ?? [])).toEqual(misses.map(({ cause }) => cause));
	return misses.map(({ cause, changed }) => [cause, changed]);
}

class PiConversation implements Conversation {
	readonly #writer = new SessionWriter();
	readonly #answers: string[] = [];
	#model = "claude-opus-4-5";

	constructor() {
		const preamble = "You are pi.".repeat(1000);
		this.#system({ sections: { preamble }, toolsAdded: [{ name: "read" }] });
	}

	#system(fields: object): void {
		this.#writer.entry("message", { message: { role: "system", content: "", ...fields } });
	}

	ask({ read, fresh }: Prompt): void {
		this.#writer.user(`question ${this.#answers.length}`);
		const usage = { cacheRead: read, cacheWrite: fresh, output: 1 };
		this.#answers.push(this.#writer.assistant("answer", usage, { model: this.#model }));
	}

	pause(ms: number): void {
		this.#writer.atMs += ms;
	}

	addTool(): void {
		this.#system({ toolsAdded: [{ name: "write" }] });
	}

	changeSystem(): void {
		this.#system({ sections: { cwd: "/elsewhere" } });
	}

	changeModel(): void {
		this.#model = "claude-sonnet-4-5";
	}

	changeEffort(): void {
		this.#writer.entry("thinking_level_change", { thinkingLevel: "high" });
	}

	compact(): void {
		this.#writer.entry("compaction", { summary: "so far", firstKeptEntryId: "none" });
	}

	branch(): void {
		this.#writer.leaf = this.#answers[0] ?? null;
	}

	/** Pi's sub-agents have files of their own. */
	runSubagent(): void {
		this.pause(30_000);
	}

	save(): string {
		return this.#writer.save();
	}
}

class ClaudeConversation implements Conversation {
	readonly #writer = new ClaudeWriter();
	readonly #answers: string[] = [];
	#more: object = {};
	#effort = "high";

	ask({ read, fresh }: Prompt): void {
		const id = `m${this.#answers.length}`;
		this.#writer.user(`question ${id}`);
		const fields = { effort: this.#effort, more: this.#more };
		this.#answers.push(this.#writer.text(id, "answer", { input: 0, read, write: fresh }, fields));
	}

	pause(ms: number): void {
		this.#writer.atMs += ms;
	}

	addTool(): void {
		this.#more = { diagnostics: { cache_miss_reason: { type: "tools_changed" } } };
	}

	changeSystem(): void {
		this.#more = { diagnostics: { cache_miss_reason: { type: "system_changed" } } };
	}

	changeModel(): void {
		this.#more = { model: "claude-sonnet-4-5" };
	}

	changeEffort(): void {
		this.#effort = "low";
	}

	compact(): void {
		const fields = { subtype: "compact_boundary", logicalParentUuid: this.#writer.leaf };
		this.#writer.line("system", { ...fields, compactMetadata: { trigger: "auto" } }, null);
		this.#writer.user("this session continues …", { isCompactSummary: true });
	}

	branch(): void {
		this.#writer.leaf = this.#answers[0] ?? null;
	}

	runSubagent(): void {
		const { leaf, common } = this.#writer;
		this.#writer.common = { ...common, isSidechain: true, agentId: "a1" };
		this.#writer.leaf = null;
		this.#writer.user("task");
		this.#writer.text("s1", "done", { input: 0, write: 9000 });
		this.#writer.common = common;
		this.#writer.leaf = leaf;
	}

	save(): string {
		return this.#writer.save();
	}
}

class CodexConversation implements Conversation {
	readonly #writer = new CodexWriter().turn("gpt-5.5", "high");
	#asked = 0;

	ask({ read, fresh }: Prompt): void {
		this.#writer.user(`question ${this.#asked++}`).assistant("answer");
		this.#writer.count({ input: read + fresh, cached: read, output: 10 });
	}

	pause(ms: number): void {
		this.#writer.atMs += ms;
	}

	changeModel(): void {
		this.#writer.turn("gpt-5.2", "high");
	}

	changeEffort(): void {
		this.#writer.turn("gpt-5.5", "low");
	}

	compact(): void {
		const replacement_history = [{ type: "compaction", encrypted_content: "gAAAA" }];
		this.#writer.line("compacted", { message: "", replacement_history });
	}

	branch(): void {
		this.#writer.event("thread_rolled_back", { num_turns: 1 });
	}

	/** Codex writes sub-agents into files of their own. */
	runSubagent(): void {
		this.pause(30_000);
	}

	save(): string {
		return this.#writer.save();
	}
}

class OpencodeConversation implements Conversation {
	readonly #session = new OpencodeSession();
	#subagent: OpencodeSession | undefined;
	#fields: object = {};

	ask({ read, fresh }: Prompt, fields: object = this.#fields): void {
		this.#session.user("next").assistant("answer", { input: 0, read, write: fresh }, fields);
	}

	pause(ms: number): void {
		this.#session.atMs += ms;
	}

	changeModel(): void {
		this.#fields = { modelID: "claude-sonnet-4-5" };
	}

	changeEffort(): void {
		this.#fields = { variant: "high" };
	}

	compact(): void {
		this.ask(REREAD, { summary: true });
	}

	runSubagent(): void {
		this.#subagent = new OpencodeSession("ses_2", { parentID: "ses_1" });
		this.#subagent.atMs = this.#session.atMs;
		this.#subagent.user("task").assistant("done", { input: 0, write: 9000 });
		this.pause(30_000);
	}

	save(): string {
		const file = join(tempDir(), "export.json");
		const documents = [this.#session, this.#subagent].flatMap((one) => one?.document(2) ?? []);
		writeFileSync(file, documents.join("\n"));
		return file;
	}
}

class GeminiConversation implements Conversation {
	readonly #lines: object[] = [{ sessionId: "s1", projectHash: "h1" }];
	#atMs = Date.UTC(2026, 6, 1);
	#asked = 0;
	#model = "gemini-3.1-pro";

	ask({ read, fresh }: Prompt): void {
		const at = this.#asked++;
		this.#line({ id: `u${at}`, type: "user", content: [{ text: `question ${at}` }] });
		const tokens = { input: read + fresh, cached: read, output: 10, thoughts: 0, tool: 0 };
		const answer = { id: `g${at}`, type: "gemini", content: `answer ${at}` };
		this.#line({ ...answer, model: this.#model, tokens });
	}

	#line(fields: object): void {
		this.#atMs += 10_000;
		this.#lines.push({ timestamp: new Date(this.#atMs).toISOString(), ...fields });
	}

	pause(ms: number): void {
		this.#atMs += ms;
	}

	changeModel(): void {
		this.#model = "gemini-3-flash";
	}

	compact(): void {
		const summary = { id: "sum", type: "user", content: [{ text: "so far" }] };
		this.#lines.push({ $snapshot: true, messages: [summary] });
	}

	branch(): void {
		this.#lines.push({ $rewindTo: "u1" });
	}

	/** Gemini CLI writes sub-agents into files of their own. */
	runSubagent(): void {
		this.pause(30_000);
	}

	save(): string {
		const file = join(tempDir(), "session-a.jsonl");
		writeFileSync(file, this.#lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
		return file;
	}
}
