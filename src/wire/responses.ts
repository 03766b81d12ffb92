import { countIn, isRecord, property } from "../core/property.ts";
import { answerOf } from "./answer.ts";
import type { AnswerFold, Format, ProviderMissReason, Usage, WireAnswer } from "./format.ts";
import { JsonSpan } from "./json-span.ts";
import { breakpointOf, nameOf, type Part, type Piece } from "./piece.ts";
import { listOf, PieceList, parsed, parsedArguments, settings, textOf } from "./piece-list.ts";

/** OpenAI's Responses API, over HTTP or as frames of a WebSocket. */
export const responses: Format = {
	name: "responses",
	// Codex asks for a compaction apart: the whole history in, a shorter one out.
	matches: (path) => /\/responses(\/compact)?$/.test(path),
	request(body) {
		const list = new PieceList();
		addTools(list, body.get("tools"), "tools");
		for (const span of listOf(body.get("instructions"))) {
			list.add("system", { kind: "system", label: "system prompt", span, value: span.value });
		}
		for (const [at, item] of listOf(body.get("input")).entries()) addItem(list, item, at);
		const text = parsed(body.get("text"));
		const continues = nameOf(textOf(body.get("previous_response_id")));
		const cacheKey = nameOf(textOf(body.get("prompt_cache_key")));
		return {
			model: textOf(body.get("model")) ?? "",
			pieces: list.pieces,
			settings: settings({
				effort: property(parsed(body.get("reasoning")), "effort"),
				verbosity: property(text, "verbosity"),
				textFormat: property(text, "format"),
				toolChoice: parsed(body.get("tool_choice")),
				serviceTier: parsed(body.get("service_tier")),
			}),
			...(continues && { continues }),
			...(cacheKey && { cacheKey }),
			...(isLongLived(body) && { ttl: "1h" }),
		};
	},
	usage: usageOf,
	answer: () => new ResponsesAnswer(),
};

/** Since GPT-5.6 by an option; before, by the retention. */
function isLongLived(body: ReadonlyMap<string, JsonSpan>): boolean {
	const ttl = property(parsed(body.get("prompt_cache_options")), "ttl");
	return ttl === "12h" || textOf(body.get("prompt_cache_retention")) === "24h";
}

function addTools(list: PieceList, tools: JsonSpan | undefined, part: Part): void {
	for (const span of listOf(tools)) {
		const tool = span.value;
		list.addTool(span, tool, property(tool, "name") ?? property(tool, "type"), part);
	}
}

/** Adds the pieces of one input or output item. Ids and states that the server adds do not count. */
function addItem(list: PieceList, item: JsonSpan, at: number): void {
	const whole = item.value;
	const value = isRecord(whole) ? whole : { role: "user", content: whole };
	const type = typeof value.type === "string" ? value.type : "message";
	const role = typeof value.role === "string" ? value.role : undefined;
	const who = `${nameOf(role ?? type) ?? "other"} message ${at + 1}`;
	const { id: _, status: __, ...said } = value;
	const added = { span: item, value: said, role };
	if (type.endsWith("_output")) {
		list.addResult(added, { id: value.call_id, who: `item ${at + 1}` });
	} else if (type.endsWith("_call")) {
		const input = parsedArguments(value.arguments ?? value.input ?? value.action);
		list.addCall(added, {
			id: value.call_id,
			name: value.name ?? type,
			input,
			who: `item ${at + 1}`,
		});
	} else if (type === "reasoning") {
		const { encrypted_content, summary } = value;
		const thought = { encrypted_content: encrypted_content ?? summary };
		list.add("messages", {
			kind: "thinking",
			label: `reasoning in item ${at + 1}`,
			...added,
			value: thought,
		});
	} else if (type === "additional_tools") {
		// Tools in the input, as newer models of Codex get them, stand in the prompt where they are sent.
		addTools(list, item.members().get("tools"), "messages");
	} else if (type !== "message" || value.content === undefined) {
		list.add("messages", { kind: "user", label: who, ...added });
	} else {
		const kind = role === "assistant" ? "text" : role === "user" ? "user" : "system";
		for (const span of listOf(item.members().get("content") ?? item)) {
			const part = span.value;
			const breakpoint = breakpointOf(part);
			list.add("messages", { kind, label: who, span, value: spoken(part), role, breakpoint });
		}
	}
}

/** A text without the annotations that only an answer has. */
function spoken(part: unknown): unknown {
	const text = property(part, "text");
	return typeof text === "string" ? text : part;
}

/** Bounds the output items whose hashes are kept for a later request. */
const MAX_OUTPUT_ITEMS = 10_000;

const DELTA = /^\{"type":"response\.[a-z_.]+\.delta"/;

class ResponsesAnswer implements AnswerFold {
	#response: Record<string, unknown> = {};
	#items: unknown[] = [];
	#isDone = false;
	#error: string | undefined;

	needs(data: string): boolean {
		return !DELTA.test(data);
	}

	add(event: unknown): void {
		const type = property(event, "type");
		const response = property(event, "response");
		if (isRecord(response)) this.#response = response;
		switch (type) {
			case "response.output_item.done":
				if (this.#items.length < MAX_OUTPUT_ITEMS) this.#items.push(property(event, "item"));
				return;
			case "response.completed":
			case "response.incomplete":
			case "response.done":
				this.#isDone = true;
				return;
			case "response.failed":
				this.#fail(property(response, "error"));
				return;
			case "error":
				this.#fail(property(event, "error") ?? event);
				return;
		}
		if (!isRecord(event)) return;
		if (event.object === "response" || event.object === "response.compaction") {
			this.#response = event;
			this.#isDone = true;
		}
		if (isRecord(event.error)) this.#fail(event.error);
	}

	end(isWhole: boolean): WireAnswer {
		const { usage, output, id, model, service_tier: tier } = this.#response;
		const items = this.#items.length > 0 || !Array.isArray(output) ? this.#items : output;
		return answerOf({
			isDone: this.#isDone && isWhole,
			...{ id, model, tier, error: this.#error },
			usage: isRecord(usage) ? usageOf(usage) : undefined,
			missReason: diagnosisOf(this.#response),
			output: outputPieces(items),
		});
	}

	#fail(error: unknown): void {
		this.#error = nameOf(property(error, "code") ?? property(error, "type")) ?? "error";
	}
}

function outputPieces(items: readonly unknown[]): readonly Piece[] {
	const list = new PieceList();
	try {
		const spans = JsonSpan.of(Buffer.from(JSON.stringify(items)));
		for (const [at, item] of [...spans.items()].entries()) addItem(list, item, at);
	} catch {
		// An item is too deep to serialize. The bill counts all the same.
	}
	return list.pieces;
}

/** `input_tokens` includes what was read and written. */
function usageOf(usage: unknown): Usage {
	const details = property(usage, "input_tokens_details");
	const read = countIn(details, "cached_tokens");
	const write = countIn(details, "cache_write_tokens");
	const long = countIn(property(details, "cache_write_tokens_details"), "ttl_12h_tokens");
	return {
		input: Math.max(0, countIn(usage, "input_tokens") - read - write),
		read,
		write,
		writeOneHour: Math.min(write, long),
		output: countIn(usage, "output_tokens"),
		reasoning: countIn(property(usage, "output_tokens_details"), "reasoning_tokens"),
	};
}

function diagnosisOf(response: unknown): ProviderMissReason | undefined {
	const diagnosis = property(response, "prompt_cache_diagnostics");
	const type = nameOf(property(diagnosis, "reason"));
	if (!type) return undefined;
	const tokens = countIn(diagnosis, "cache_missed_tokens");
	return { type, ...(tokens > 0 && { tokens }) };
}
