import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ReplayModel, ReplaySession } from "../../../src/economy/replay/index.ts";
import { rebuildRequests } from "../../../src/economy/replay/requests.ts";
import { rulesFor } from "../../../src/economy/rules.ts";
import { readSessionFile } from "../../support/read-session-file.ts";
import { tempDir } from "../../support/temp.ts";

/** What a request was billed. */
export interface TestUsage {
	input?: number;
	output?: number;
	cacheRead?: number;
	cacheWrite?: number;
	cacheWrite1h?: number;
}

/** Writes session files of format 3 line by line, ten seconds between the lines. */
export class SessionWriter {
	readonly lines: string[] = [];
	leaf: string | null = null;
	atMs = Date.UTC(2026, 0, 1);
	private count = 0;

	constructor(header: object = { version: 3 }) {
		this.raw(JSON.stringify({ type: "session", id: "s", cwd: "/project", ...header }));
	}

	raw(line: string): this {
		this.lines.push(line);
		return this;
	}

	/** Adds an entry below the leaf and returns its id. */
	entry(type: string, fields: object = {}): string {
		this.atMs += 10_000;
		const id = `e${this.count++}`;
		const timestamp = new Date(this.atMs).toISOString();
		this.raw(JSON.stringify({ type, id, parentId: this.leaf, timestamp, ...fields }));
		this.leaf = id;
		return id;
	}

	user(text: string): string {
		return this.entry("message", { message: { role: "user", content: [{ type: "text", text }] } });
	}

	/** An answer with its bill; `content` may be a text. */
	assistant(content: string | object[], usage: TestUsage, fields: object = {}): string {
		const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
		const full = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, ...usage };
		const model = { provider: "anthropic", model: "claude-opus-4-5", stopReason: "stop" };
		return this.entry("message", {
			message: { role: "assistant", content: blocks, usage: full, ...model, ...fields },
		});
	}

	call(id: string, name: string, input: object): object {
		return { type: "toolCall", id, name, arguments: input };
	}

	result(toolCallId: string, toolName: string, text: string, details: object = {}): string {
		const content = [{ type: "text", text }];
		return this.entry("message", {
			message: { role: "toolResult", toolCallId, toolName, content, details },
		});
	}

	/** Writes the file and returns its path. */
	save(name = "session.jsonl", folder = tempDir()): string {
		const file = join(folder, name);
		writeFileSync(file, `${this.lines.join("\n")}\n`);
		return file;
	}

	/** The requests of the file as replay sees them. */
	async replay(): Promise<ReplaySession> {
		return rebuildRequests(await readSessionFile(this.save()), testModel);
	}
}

/** Any model under the rules of Claude Opus 4.5: reads 0.1, writes 1.25, nothing below 4096 tokens. */
export function testModel(name: ReplayModel["name"]): ReplayModel {
	const rules = rulesFor({ provider: "anthropic", id: "claude-opus-4-5" });
	return { name, rules, prices: undefined, contextWindow: 200_000 };
}
