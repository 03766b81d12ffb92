import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempDir } from "../support/temp.ts";

export interface ClaudeUsage {
	input?: number;
	read?: number;
	write?: number;
	hour?: number;
	output?: number;
}

/** Writes transcripts of Claude Code line by line, ten seconds between the lines. */
export class ClaudeWriter {
	readonly lines: string[] = [];
	leaf: string | null = null;
	atMs = Date.UTC(2026, 6, 1);
	/** Added to every line. */
	common: Record<string, unknown> = { isSidechain: false, sessionId: "s1", version: "2.1.219" };
	#count = 0;

	raw(line: string): this {
		this.lines.push(line);
		return this;
	}

	/** Adds a line below the leaf, or below `parent`, and returns its uuid. */
	line(type: string, fields: object = {}, parent: string | null = this.leaf): string {
		this.atMs += 10_000;
		const uuid = `u${this.#count++}`;
		const timestamp = new Date(this.atMs).toISOString();
		const line = { parentUuid: parent, ...this.common, cwd: "/w/app", type, uuid, timestamp };
		this.raw(JSON.stringify({ ...line, ...fields }));
		this.leaf = uuid;
		return uuid;
	}

	user(text: string, fields: object = {}): string {
		return this.line("user", { message: { role: "user", content: text }, ...fields });
	}

	/** One line of an answer. */
	block(id: string, block: object, usage: ClaudeUsage, fields: object = {}): string {
		const { input = 3, read = 0, write = 0, hour = 0, output = 1 } = usage;
		const message = {
			...{ id, role: "assistant", model: "claude-opus-4-5", content: [block] },
			usage: {
				...{ input_tokens: input, cache_read_input_tokens: read, output_tokens: output },
				cache_creation_input_tokens: write,
				cache_creation: { ephemeral_1h_input_tokens: hour },
			},
		};
		const { parent, more, ...rest } = { parent: this.leaf, more: {}, ...fields };
		return this.line(
			"assistant",
			{ requestId: `req_${id}`, ...rest, message: { ...message, ...more } },
			parent,
		);
	}

	text(id: string, text: string, usage: ClaudeUsage, fields: object = {}): string {
		return this.block(id, { type: "text", text }, usage, fields);
	}

	call(id: string, call: string, input: object, usage: ClaudeUsage, fields: object = {}): string {
		return this.block(id, { type: "tool_use", id: call, name: "Read", input }, usage, fields);
	}

	result(call: string, text: string, parent: string | null = this.leaf): string {
		const content = [{ type: "tool_result", tool_use_id: call, content: text }];
		return this.line("user", { message: { role: "user", content } }, parent);
	}

	/** A boundary below `leaf`, and the summary that the next request begins with. */
	compaction(metadata: object, leaf = this.leaf, summary = "this session continues …"): string {
		const subtype = "compact_boundary";
		this.line("system", { subtype, logicalParentUuid: leaf, compactMetadata: metadata }, null);
		return this.user(summary, { isCompactSummary: true });
	}

	save(name = "transcript.jsonl", folder = tempDir()): string {
		const file = join(folder, name);
		writeFileSync(file, `${this.lines.join("\n")}\n`);
		return file;
	}
}
