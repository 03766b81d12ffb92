import { createHash, randomUUID } from "node:crypto";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ClaudeHook } from "../../src/hook/index.ts";
import { touchesExcluded } from "../../src/readcache/index.ts";
import { tempDir } from "../support/temp.ts";

export interface ToolCall {
	readonly tool: "Read" | "Bash";
	readonly input: Readonly<Record<string, unknown>>;
	readonly response: unknown;
	readonly isError?: boolean;
}

export interface ShownResult {
	readonly id: string;
	readonly call: ToolCall;
	/** What the model sees, and what it would see without a hook. */
	text: string;
	readonly original: string;
}

type Message = { role: string; content: object[] };

export function readCall(path: string, content: string, startLine = 1): ToolCall {
	const numLines = content.split("\n").length;
	const file = { filePath: path, content, numLines, startLine, totalLines: numLines };
	return { tool: "Read", input: { file_path: path }, response: { type: "text", file } };
}

export function bashCall(command: string, stdout: string, more: object = {}): ToolCall {
	const plain = { stdout, stderr: "", interrupted: false, isImage: false, noOutputExpected: false };
	return { tool: "Bash", input: { command }, response: { ...plain, ...more } };
}

/**
 * Plays Claude Code: writes a transcript with records of its requests, calls the hook after each call, and shows
 * results as Claude Code 2.1.325 does. Shares no code with the hook.
 */
export class ClaudeSession {
	readonly folder = tempDir("claude session");
	readonly project = join(this.folder, "project");
	readonly blobs = join(this.folder, "blobs");
	readonly env = { PI_CODING_AGENT_DIR: join(this.folder, "agent") };
	readonly transcript = join(this.folder, "session.jsonl");
	/** The results of the next request, in order. */
	results: ShownResult[] = [];
	/** Added to the parameters of requests. */
	params: object = { context_management: { edits: [{ type: "clear_thinking_20251015" }] } };
	isRecorded = true;
	/** Transcripts of sub-agents do not have what tools returned. */
	hasResponses = true;
	hook: ClaudeHook;
	#messages: Message[] = [];
	#base: { id: string; hashes: string[] } | undefined;
	#known = new Set<string>();
	#count = 0;

	constructor({ isShadow = false, settings = {} as object } = {}) {
		mkdirSync(this.project);
		mkdirSync(join(this.project, ".git"));
		mkdirSync(this.env.PI_CODING_AGENT_DIR);
		const config = { ...settings, blobs: { dir: this.blobs } };
		writeFileSync(join(this.env.PI_CODING_AGENT_DIR, "strata.json"), JSON.stringify(config));
		writeFileSync(this.transcript, "");
		this.hook = this.newHook(isShadow);
		this.ask("begin");
	}

	/** As another process would have it. */
	newHook(isShadow = false): ClaudeHook {
		return new ClaudeHook({ env: this.env, touchesExcluded, isShadow });
	}

	ask(prompt: string): void {
		const content = [{ type: "text", text: prompt }];
		this.#messages.push({ role: "user", content });
		this.#line("user", { message: { role: "user", content: prompt } });
		this.#known.add(hashOf({ role: "user", content }));
	}

	/** One answer with these calls. `order` says which of them ends first. Returns why results stay. */
	async calls(calls: readonly ToolCall[], order = calls.map((_, at) => at)): Promise<string[]> {
		const requestRef = this.#send();
		const answer = `msg_${this.#count++}`;
		const uses = calls.map(({ tool: name, input }, at) => {
			return { type: "tool_use", id: `toolu_${answer}_${at}`, name, input };
		});
		for (const use of uses) this.#answerLine(answer, use, requestRef);
		this.#messages.push({ role: "assistant", content: uses });
		this.#known.add(hashOf({ role: "assistant", content: uses }));
		const made: { block: object; result: ShownResult }[] = [];
		const reasons: string[] = [];
		const written: object[] = [];
		for (const at of order) {
			const call = calls[at] as ToolCall;
			const id = uses[at]?.id ?? "";
			const { response, why } = await this.#afterHook(call, id);
			const [text, original] = [shownBy(call, response), shownBy(call, call.response)];
			const block = {
				...{ tool_use_id: id, type: "tool_result", content: text },
				...((call.isError || call.tool === "Bash") && { is_error: call.isError === true }),
			};
			made[at] = { block, result: { id, call, text, original } };
			reasons[at] = why ?? "";
			const returned = this.hasResponses && { toolUseResult: response };
			this.#line("user", { message: { role: "user", content: [block] }, ...returned });
			written.push(block);
			this.#known.add(hashOf({ role: "user", content: written }));
		}
		const content = made.map(({ block }) => block);
		this.#messages.push({ role: "user", content });
		this.#known.add(hashOf({ role: "user", content }));
		this.results = [...this.results, ...made.map(({ result }) => result)];
		return reasons;
	}

	async call(call: ToolCall): Promise<ShownResult & { readonly why: string }> {
		const [why = ""] = await this.calls([call]);
		return { ...(this.results.at(-1) as ShownResult), why };
	}

	/** All that was said is replaced by a summary. */
	compact(): void {
		this.#messages = [];
		this.results = [];
		this.#base = undefined;
		this.ask(`summary ${this.#count++}`);
	}

	/** The results of all answers but the last are replaced by a stub. */
	clear(): void {
		const last = this.#messages.at(-1);
		const cleared = new Set<string>();
		this.#messages = this.#messages.map((message) => {
			if (message === last) return message;
			const content = message.content.map((block) => {
				if (!("tool_use_id" in block)) return block;
				cleared.add(String(block.tool_use_id));
				return { ...block, content: STUB };
			});
			return { ...message, content };
		});
		for (const result of this.results) if (cleared.has(result.id)) result.text = STUB;
	}

	/** What an event says. */
	event({ tool, input, response }: ToolCall, id: string): object {
		return {
			...{ session_id: "s1", transcript_path: this.transcript, cwd: this.project },
			...{ hook_event_name: "PostToolUse", tool_name: tool, tool_input: input },
			...{ tool_response: response, tool_use_id: id, duration_ms: 1 },
		};
	}

	stored(path: string): string {
		return readFileSync(path, "utf8");
	}

	/** An error has another event, which no hook of ours is for. */
	async #afterHook(call: ToolCall, id: string): Promise<{ response: unknown; why?: string }> {
		if (call.isError) return call;
		const { output, why } = await this.hook.handle(this.event(call, id));
		if (output === "") return { response: call.response, ...(why !== undefined && { why }) };
		const { hookSpecificOutput } = JSON.parse(output);
		return { response: hookSpecificOutput.updatedToolOutput };
	}

	#answerLine(id: string, block: object, requestRef: string): void {
		const message = { id, role: "assistant", content: [block] };
		this.#line("assistant", { message, ...(this.isRecorded && { requestRef }) });
	}

	#send(): string {
		const id = randomUUID();
		if (!this.isRecorded) return id;
		const hashes = this.#messages.map(hashOf);
		for (const [at, hash] of hashes.entries()) {
			if (this.#known.has(hash)) continue;
			this.#known.add(hash);
			this.#raw({ type: "api-request-blob", hash, message: this.#messages[at] });
		}
		const differs = hashes.findIndex((hash, at) => this.#base?.hashes[at] !== hash);
		const keep = this.#base ? (differs < 0 ? hashes.length : differs) : 0;
		const base = this.#base && { base: this.#base.id };
		const { params } = this;
		this.#raw({ type: "api-request", id, params, ...base, keep, tail: hashes.slice(keep) });
		this.#base = { id, hashes };
		return id;
	}

	#line(type: string, fields: object): void {
		this.#raw({ type, uuid: randomUUID(), cwd: this.project, isSidechain: false, ...fields });
	}

	#raw(line: object): void {
		appendFileSync(this.transcript, `${JSON.stringify({ sessionId: "s1", ...line })}\n`);
	}
}

const STUB = "[Old tool result content cleared]";

function shownBy({ tool, isError }: ToolCall, response: unknown): string {
	if (isError) return String(response);
	const { file, stdout = "" } = response as {
		file?: { content: string; startLine: number };
		stdout?: string;
	};
	if (tool === "Bash") return stdout.replace(/^(\s*\n)+/, "").trimEnd();
	const { content, startLine } = file as { content: string; startLine: number };
	return content
		.split("\n")
		.map((line, at) => `${startLine + at}\t${line}`)
		.join("\n");
}

const hashes = new WeakMap<object, string>();

/** Messages do not change; sessions are long. */
function hashOf(message: object): string {
	const known = hashes.get(message) ?? newHashOf(message);
	hashes.set(message, known);
	return known;
}

function newHashOf(message: object): string {
	const sorted = JSON.stringify(message, (_, one) =>
		typeof one === "object" && one !== null && !Array.isArray(one)
			? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
			: one,
	);
	return createHash("sha256").update(sorted).digest("hex");
}
