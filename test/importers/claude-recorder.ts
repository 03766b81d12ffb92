import { createHash, randomUUID } from "node:crypto";
import {
	type ImportedSession,
	readSessions,
	type SessionFileOptions,
} from "../../src/importers/index.ts";
import { type ClaudeBody, type ClaudeMessage, ClaudeProvider } from "../support/claude-provider.ts";
import { ClaudeWriter } from "./claude-writer.ts";

interface Conversation {
	/** Of a sub-agent. */
	readonly agentId: string | undefined;
	messages: ClaudeMessage[];
	leaf: string | null;
	/** The record of its last request, and the hashes of that request's messages. */
	base: { id: string; hashes: string[] } | undefined;
	/** The content of the user's lines since the last answer. */
	run: object[];
	/** After each turn. */
	readonly points: { leaf: string | null; messages: ClaudeMessage[] }[];
}

/**
 * Writes transcripts as newer versions of Claude Code do: the conversation's lines, and a record of each request. A
 * simulated provider bills the requests and states the causes of misses.
 */
export class ClaudeRecorder {
	readonly writer = new ClaudeWriter();
	/** The true requests of the main conversation. */
	readonly requests: ClaudeBody[] = [];
	/** The provider's causes by request of the main conversation. */
	readonly reasons = new Map<number, string>();
	model = "claude-opus-4-5";
	effort = "medium";
	system = [text("You are an agent."), text("Rules. ".repeat(3_000))];
	tools: object[] = ["Read", "Bash", "Edit"].map(tool);
	readonly #provider = new ClaudeProvider();
	readonly #main: Conversation = newConversation();
	/** Hashes of heads and messages that the file has already. */
	readonly #written = new Set<string>();
	#count = 0;

	/** A prompt of the user and the answer to it. */
	ask(prompt: string): void {
		this.#user(this.#main, [text(prompt)]);
		this.#send(this.#main, text(`answer ${this.#count}`));
		this.#endTurn();
	}

	/** The model calls a tool, and answers to its result. */
	call(output: string): void {
		const id = `t${this.#count}`;
		this.#user(this.#main, [text(`look ${id}`)]);
		const input = { file_path: `/w/${id}.ts` };
		this.#send(this.#main, { type: "tool_use", id, name: "Read", input });
		this.#user(this.#main, [{ type: "tool_result", tool_use_id: id, content: output }]);
		this.#send(this.#main, text(`seen ${id}`));
		this.#endTurn();
	}

	/** The user goes back by some turns. */
	rewind(turns: number): void {
		const { points } = this.#main;
		const point = points.at(-1 - turns) ?? points[0];
		if (!point) return;
		points.splice(points.indexOf(point) + 1);
		this.#main.leaf = point.leaf;
		this.#main.messages = [...point.messages];
	}

	/** The program replaces all results but the last by stubs. */
	clearResults(): boolean {
		const ids: string[] = [];
		const results = this.#main.messages.filter(isResult);
		const cleared = new Set(results.slice(0, -1));
		this.#main.messages = this.#main.messages.map((message) => {
			const [first] = message.content as { tool_use_id?: string; content?: string }[];
			if (!cleared.has(message) || first?.content === CLEARED) return message;
			ids.push(String(first?.tool_use_id));
			return { ...message, content: [{ ...first, content: CLEARED }] };
		});
		if (ids.length === 0) return false;
		const metadata = { trigger: "auto", compactedToolIds: ids, clearedAttachmentUUIDs: [] };
		const fields = { subtype: "microcompact_boundary", microcompactMetadata: metadata };
		this.#line(this.#main, () => this.writer.line("system", fields));
		return true;
	}

	compact(): void {
		const summary = `this session continues … ${this.#count}`;
		this.#line(this.#main, () => this.writer.compaction({ trigger: "auto" }, undefined, summary));
		this.#main.messages = [{ role: "user", content: [text(summary)] }];
		this.#claim(this.#main, [text(summary)]);
		this.#main.points.length = 0;
	}

	/** A sub-agent with a head of its own makes two requests. */
	delegate(): void {
		const agentId = `agent${this.#count++}`;
		const { system, tools } = this;
		const { common } = this.writer;
		const sub = newConversation(agentId);
		this.writer.common = { ...common, isSidechain: true, agentId };
		this.system = [text("You are a sub-agent.")];
		this.tools = [tool("Read")];
		this.#user(sub, [text(`task of ${agentId}`)]);
		this.#send(sub, text("on it"));
		this.#user(sub, [text("go on")]);
		this.#send(sub, text("done"));
		Object.assign(this, { system, tools });
		this.writer.common = common;
	}

	pause(minutes: number): void {
		this.writer.atMs += minutes * 60_000;
	}

	/**
	 * The file's main session, without the provider's causes. `change` may replace a line, or leave it
	 * out; if not `isRecorded`, all records of requests are left out.
	 */
	async read({
		isRecorded = true,
		detail = "contents" as NonNullable<SessionFileOptions["detail"]>,
		change = (line: string, _at: number): string | undefined => line,
	} = {}): Promise<ImportedSession> {
		const writer = new ClaudeWriter();
		for (const [at, line] of this.writer.lines.entries()) {
			const changed = change(line, at);
			if (changed === undefined || (!isRecorded && isRecord(line))) continue;
			writer.raw(changed.replace(/"diagnostics":\{.*?\}\}/, '"diagnostics":null'));
		}
		const [session] = await readSessions(writer.save(), { detail });
		return session as ImportedSession;
	}

	#endTurn(): void {
		const { points, leaf, messages } = this.#main;
		points.push({ leaf, messages: [...messages] });
	}

	#user(conversation: Conversation, content: object[]): void {
		const message = { role: "user", content } as const;
		conversation.messages.push(message);
		this.#claim(conversation, content);
		this.#line(conversation, () => this.writer.line("user", { message }));
	}

	#send(conversation: Conversation, block: object): void {
		const number = this.#count++;
		const { model, system, effort } = this;
		const tools = [...this.tools];
		const body = { model, system, tools, effort, messages: [...conversation.messages] };
		const { input, read, write, reason } = this.#provider.bill(
			String(conversation.agentId),
			body,
			this.writer.atMs,
		);
		const requestRef = this.#record(conversation, body);
		if (conversation === this.#main) {
			if (reason) this.reasons.set(this.requests.length, reason.type);
			this.requests.push(body);
		}
		const more = { model, ...(reason && { diagnostics: { cache_miss_reason: reason } }) };
		const usage = { input, read, write };
		this.#line(conversation, () =>
			this.writer.block(`m${number}`, block, usage, { effort, requestRef, more }),
		);
		conversation.messages.push({ role: "assistant", content: [block] });
		conversation.run = [];
		this.#written.add(messageHash({ role: "assistant", content: [block] }));
	}

	/** Lines of a user that follow each other are found by the hash of what they are together. */
	#claim(conversation: Conversation, content: readonly object[]): void {
		conversation.run.push(...content);
		this.#written.add(messageHash({ role: "user", content: conversation.run }));
	}

	#record(
		conversation: Conversation,
		{ messages, system, tools, model, effort }: ClaudeBody,
	): string {
		const { agentId, base } = conversation;
		const common = { sessionId: "s1", ...(agentId && { agentId }) };
		const shape = { system, tools };
		const shapeHash = sha256(sortedJson(shape));
		this.#once(shapeHash, { type: "api-request-shape", ...common, shapeHash, shape });
		const hashes = messages.map(messageHash);
		for (const [at, hash] of hashes.entries()) {
			this.#once(hash, { type: "api-request-blob", ...common, hash, message: messages[at] });
		}
		const differs = hashes.findIndex((hash, at) => base?.hashes[at] !== hash);
		const keep = differs < 0 ? hashes.length : differs;
		const id = randomUUID();
		const params = { model, max_tokens: 32_000, output_config: { effort } };
		const marked = [
			["system", system.length - 1],
			["messages", messages.length - 1, "content", 0],
		];
		const cacheControl = marked.map((path) => ({ path, value: { type: "ephemeral" } }));
		const request = { type: "api-request", ...common, id, querySource: "sdk", shapeHash, params };
		const timestamp = new Date(this.writer.atMs).toISOString();
		const list = { ...(keep > 0 && { base: base?.id }), keep, tail: hashes.slice(keep) };
		this.writer.raw(JSON.stringify({ ...request, timestamp, ...list, cacheControl }));
		conversation.base = { id, hashes };
		return id;
	}

	#once(hash: string, line: object): void {
		if (this.#written.has(hash)) return;
		this.#written.add(hash);
		this.writer.raw(JSON.stringify(line));
	}

	#line(conversation: Conversation, write: () => string): void {
		this.writer.leaf = conversation.leaf;
		conversation.leaf = write();
	}
}

/** Whether a line is the record of a request, or of a part of one. */
export function isRecord(line: string): boolean {
	return line.startsWith('{"type":"api-request');
}

const CLEARED = "[cleared]";

function newConversation(agentId?: string): Conversation {
	return { agentId, messages: [], leaf: null, base: undefined, run: [], points: [] };
}

export function text(value: string): object {
	return { type: "text", text: value };
}

export function tool(name: string): object {
	return { name, description: `The tool ${name}. `.repeat(100), input_schema: { type: "object" } };
}

function isResult({ content }: ClaudeMessage): boolean {
	return "tool_use_id" in (content[0] ?? {});
}

function messageHash(message: object): string {
	return sha256(sortedJson(message));
}

function sha256(value: string): string {
	return createHash("sha256").update(value).digest("hex");
}

/** Keys sorted at every level. */
function sortedJson(value: unknown): string {
	return JSON.stringify(value, (_, one) =>
		typeof one === "object" && one !== null && !Array.isArray(one)
			? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
			: one,
	);
}
