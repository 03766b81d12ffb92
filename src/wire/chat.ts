import { countIn, isRecord, property } from "../core/property.ts";
import { answerOf } from "./answer.ts";
import type { AnswerFold, Format, Usage, WireAnswer } from "./format.ts";
import type { JsonSpan } from "./json-span.ts";
import { nameOf } from "./piece.ts";
import {
	listOf,
	PieceList,
	parsed,
	parsedArguments,
	settings,
	textOf,
	ttlOf,
} from "./piece-list.ts";

/** OpenAI's Chat Completions API, which most other vendors offer too. */
export const chat: Format = {
	name: "chat",
	matches: (path) => path.endsWith("/chat/completions"),
	request(body) {
		const list = new PieceList();
		for (const span of listOf(body.get("tools"))) {
			const tool = span.value;
			list.addTool(
				span,
				tool,
				property(property(tool, "function"), "name") ?? property(tool, "name"),
			);
		}
		for (const [at, message] of listOf(body.get("messages")).entries()) {
			addMessage(list, message, at);
		}
		const cacheKey = nameOf(textOf(body.get("prompt_cache_key")));
		return {
			model: textOf(body.get("model")) ?? "",
			pieces: list.pieces,
			...ttlOf(list.pieces),
			settings: settings({
				thinking: parsed(body.get("thinking")),
				effort:
					parsed(body.get("reasoning_effort")) ?? property(parsed(body.get("reasoning")), "effort"),
				verbosity: parsed(body.get("verbosity")),
				textFormat: parsed(body.get("response_format")),
				toolChoice: parsed(body.get("tool_choice")),
				serviceTier: parsed(body.get("service_tier")),
			}),
			...(cacheKey && { cacheKey }),
		};
	},
	usage: usageOf,
	answer: () => new ChatAnswer(),
};

/** System messages stay where they stand: the prefix follows the order of messages. */
function addMessage(list: PieceList, message: JsonSpan, at: number): void {
	const members = message.members();
	const role = textOf(members.get("role"));
	const who = `${nameOf(role) ?? "other"} message ${at + 1}`;
	if (role === "tool" || role === "function") {
		const value = message.value;
		const [id, name] = [property(value, "tool_call_id"), property(value, "name")];
		list.addResult({ span: message, value, role }, { id, name, who });
		return;
	}
	const kind = role === "assistant" ? "text" : role === "user" ? "user" : "system";
	const content = members.get("content");
	for (const span of content || members.size > 1 ? listOf(content) : [message]) {
		list.add("messages", { kind, label: who, span, value: span.value, role });
	}
	for (const key of ["reasoning", "reasoning_content", "reasoning_details"]) {
		const span = members.get(key);
		if (!span || span.text === "null") continue;
		list.add("messages", {
			kind: "thinking",
			label: `reasoning in ${who}`,
			span,
			value: span.value,
			role,
		});
	}
	for (const span of listOf(members.get("tool_calls"))) {
		const value = span.value;
		const { name, arguments: text } = (property(value, "function") ?? {}) as Record<
			string,
			unknown
		>;
		const call = { id: property(value, "id"), name, input: parsedArguments(text), who };
		list.addCall({ span, value, role }, call);
	}
}

/** Texts escape their quotes, so that no text of the model looks like such a key. */
const BILLED = /"(usage|error)":\s*\{/;

class ChatAnswer implements AnswerFold {
	#first: { readonly id?: unknown; readonly model?: unknown } = {};
	#tier: unknown;
	#usage: Record<string, unknown> | undefined;
	#error: string | undefined;
	#isDone = false;

	needs(data: string): boolean {
		return this.#first.id === undefined || !data.startsWith("{") || BILLED.test(data);
	}

	add(event: unknown): void {
		if (event === "[DONE]") {
			this.#isDone = true;
			return;
		}
		if (!isRecord(event)) return;
		if (isRecord(event.error)) {
			const { code, type } = event.error;
			this.#error = nameOf(type) ?? nameOf(code) ?? "error";
		}
		if (event.object === "chat.completion") this.#isDone = true;
		if (this.#first.id === undefined) this.#first = { id: event.id, model: event.model };
		this.#tier = event.service_tier ?? this.#tier;
		// The sums of a later chunk replace those of an earlier one.
		if (isRecord(event.usage)) this.#usage = event.usage;
	}

	end(isWhole: boolean): WireAnswer {
		return answerOf({
			isDone: this.#isDone && isWhole,
			...{ ...this.#first, error: this.#error, tier: this.#tier },
			usage: this.#usage && usageOf(this.#usage),
		});
	}
}

/** `prompt_tokens` includes what was read and written. DeepSeek counts hits in a field of its own. */
function usageOf(usage: unknown): Usage {
	const details = property(usage, "prompt_tokens_details");
	const read = countIn(details, "cached_tokens") || countIn(usage, "prompt_cache_hit_tokens");
	const write = countIn(details, "cache_write_tokens");
	return {
		input: Math.max(0, countIn(usage, "prompt_tokens") - read - write),
		read,
		write,
		writeOneHour: 0,
		output: countIn(usage, "completion_tokens"),
		reasoning: countIn(property(usage, "completion_tokens_details"), "reasoning_tokens"),
	};
}
