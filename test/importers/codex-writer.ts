import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempDir } from "../support/temp.ts";

export interface CodexUsage {
	input: number;
	cached?: number;
	written?: number;
	output?: number;
	reasoning?: number;
}

type Counts = Required<CodexUsage>;

const NONE: Counts = { input: 0, cached: 0, written: 0, output: 0, reasoning: 0 };

/** Writes rollouts of Codex line by line, ten seconds between the lines. */
export class CodexWriter {
	readonly lines: string[] = [];
	atMs = Date.UTC(2026, 4, 1);
	total = NONE;
	#ordinal = 0;

	constructor(meta: object = {}) {
		this.meta({ id: "thread-1", ...meta });
	}

	line(type: string, payload: object): this {
		this.atMs += 10_000;
		const timestamp = new Date(this.atMs).toISOString();
		this.lines.push(JSON.stringify({ timestamp, ordinal: this.#ordinal++, type, payload }));
		return this;
	}

	meta(fields: object): this {
		const base_instructions = { text: "You are Codex. ".repeat(400) };
		return this.line("session_meta", {
			cwd: "/w/app",
			cli_version: "0.166.0",
			source: "cli",
			model_provider: "openai",
			base_instructions,
			...fields,
		});
	}

	turn(model = "gpt-5.5", effort = "high"): this {
		return this.line("turn_context", { model, effort });
	}

	event(type: string, fields: object = {}): this {
		return this.line("event_msg", { type, ...fields });
	}

	item(type: string, fields: object = {}): this {
		return this.line("response_item", { type, ...fields });
	}

	user(text: string): this {
		return this.item("message", { role: "user", content: [{ type: "input_text", text }] });
	}

	assistant(text: string): this {
		return this.item("message", { role: "assistant", content: [{ type: "output_text", text }] });
	}

	call(call_id: string, cmd: string): this {
		const args = JSON.stringify({ cmd });
		return this.item("function_call", { name: "exec_command", arguments: args, call_id });
	}

	output(call_id: string, output: unknown): this {
		return this.item("function_call_output", { call_id, output });
	}

	/** `token_count` after a request. */
	count(usage: CodexUsage): this {
		const last = { ...NONE, ...usage };
		const { total } = this;
		this.total = {
			input: total.input + last.input,
			cached: total.cached + last.cached,
			written: total.written + last.written,
			output: total.output + last.output,
			reasoning: total.reasoning + last.reasoning,
		};
		return this.event("token_count", {
			info: { total_token_usage: named(this.total), last_token_usage: named(last) },
		});
	}

	/** The last `token_count` again, without a request. */
	countAgain(): this {
		return this.event("token_count", {
			info: { total_token_usage: named(this.total), last_token_usage: named(NONE) },
		});
	}

	record(response_id: string | undefined, usage: CodexUsage): this {
		return this.line("token_usage_record", { response_id, usage: named({ ...NONE, ...usage }) });
	}

	save(name = "rollout-a.jsonl", folder = tempDir()): string {
		const file = join(folder, name);
		writeFileSync(file, `${this.lines.join("\n")}\n`);
		return file;
	}
}

function named({ input, cached, written, output, reasoning }: Counts): object {
	return {
		input_tokens: input,
		cached_input_tokens: cached,
		...(written > 0 && { cache_write_input_tokens: written }),
		output_tokens: output,
		reasoning_output_tokens: reasoning,
		total_tokens: input + output,
	};
}
