import type { Ttl } from "../core/bill.ts";
import { countIn, isRecord, property } from "../core/property.ts";
import type { AnswerFold, Format, ProviderMissReason, Usage, WireAnswer } from "./format.ts";
import type { JsonSpan } from "./json-span.ts";
import { breakpointOf, nameOf, type Piece, type PieceKind } from "./piece.ts";
import { listOf, PieceList, parsed, settings, textOf } from "./piece-list.ts";

/** Anthropic's Messages API. */
export const anthropic: Format = {
	name: "anthropic",
	matches: (path) => path.endsWith("/v1/messages"),
	request(body) {
		const list = new PieceList();
		for (const span of listOf(body.get("tools"))) {
			const tool = span.value;
			// A deferred tool is not in the prompt until the model asks for it.
			if (property(tool, "defer_loading") !== true) list.addTool(span, tool, toolName(tool));
		}
		for (const span of listOf(body.get("system"))) {
			const value = span.value;
			if (!isAttribution(value)) {
				list.add("system", { kind: "system", label: "system prompt", span, value });
			}
		}
		for (const [at, message] of listOf(body.get("messages")).entries()) {
			addMessage(list, message, at);
		}
		const pieces = withAutomatic(
			list.pieces,
			breakpointOf({ cache_control: parsed(body.get("cache_control")) }),
		);
		const { thinking, output_config, tool_choice, service_tier, speed } = settingsIn(body);
		return {
			model: textOf(body.get("model")) ?? "",
			pieces,
			settings: settings({
				thinking,
				effort: property(output_config, "effort"),
				textFormat: property(output_config, "format"),
				toolChoice: tool_choice,
				serviceTier: service_tier,
				speed,
			}),
		};
	},
	usage: usageOf,
	answer: () => new AnthropicAnswer(),
};

function settingsIn(body: ReadonlyMap<string, JsonSpan>) {
	const names = ["thinking", "output_config", "tool_choice", "service_tier", "speed"] as const;
	return Object.fromEntries(names.map((name) => [name, parsed(body.get(name))])) as Record<
		(typeof names)[number],
		unknown
	>;
}

/** Server tools have a type and no name. */
function toolName(tool: unknown): unknown {
	return property(tool, "name") ?? property(tool, "type");
}

/** Claude Code's billing line. Anthropic strips it before it looks for a prefix. */
function isAttribution(value: unknown): boolean {
	const text = property(value, "text");
	return typeof text === "string" && text.startsWith("x-anthropic-billing-header:");
}

function addMessage(list: PieceList, message: JsonSpan, at: number): void {
	const members = message.members();
	const role = textOf(members.get("role"));
	const who = `${nameOf(role) ?? "other"} message ${at + 1}`;
	const content = members.get("content");
	for (const span of content ? listOf(content) : [message]) {
		const value = span.value;
		const type = property(value, "type");
		const id = property(value, "tool_use_id");
		const added = { span, value, role };
		if (typeof id === "string") list.addResult(added, { id, who });
		else if (typeof type === "string" && type.endsWith("tool_use")) {
			const { id, name, input } = value as Record<string, unknown>;
			list.addCall(added, { id, name, input, who });
		} else list.add("messages", { kind: kindOf(type, role), label: who, ...added });
	}
}

function kindOf(type: unknown, role: string | undefined): PieceKind {
	if (type === "thinking" || type === "redacted_thinking") return "thinking";
	if (role === "system") return "system";
	return role === "assistant" ? "text" : "user";
}

/** A marker of the whole request stands after its last piece. */
function withAutomatic(pieces: readonly Piece[], ttl: Ttl | undefined): readonly Piece[] {
	const last = pieces.at(-1);
	return ttl && last && !last.breakpoint ? pieces.with(-1, { ...last, breakpoint: ttl }) : pieces;
}

class AnthropicAnswer implements AnswerFold {
	#message: Record<string, unknown> = {};
	#usage: Record<string, unknown> = {};
	#error: string | undefined;
	#isDone = false;

	needs(data: string): boolean {
		return !data.startsWith('{"type":"content_block_delta"');
	}

	add(event: unknown): void {
		switch (property(event, "type")) {
			case "message_start":
				this.#take(property(event, "message"));
				return;
			case "message_delta":
				// The sums of a later event replace those of an earlier one.
				Object.assign(this.#usage, stated(property(event, "usage")));
				return;
			case "message_stop":
				this.#isDone = true;
				return;
			case "error":
				this.#error = nameOf(property(property(event, "error"), "type")) ?? "error";
				return;
			case "message":
				this.#take(event);
				this.#isDone = true;
		}
	}

	end(isWhole: boolean): WireAnswer {
		const { id, model } = this.#message;
		const missReason = missReasonOf(this.#message);
		const thinking = thinkingOf(this.#message);
		const hasBill = Object.keys(this.#usage).length > 0;
		return {
			end: this.#error ? "error" : this.#isDone && isWhole ? "complete" : "cut",
			...named("id", id),
			...named("model", model),
			...(hasBill && { usage: usageOf(this.#usage) }),
			...(missReason && { missReason }),
			...(thinking && { thinking }),
			...(this.#error && { error: this.#error }),
		};
	}

	#take(message: unknown): void {
		if (!isRecord(message)) return;
		this.#message = message;
		this.#usage = isRecord(message.usage) ? { ...message.usage } : {};
	}
}

function named<Key extends string>(key: Key, value: unknown): Partial<Record<Key, string>> {
	const name = nameOf(value);
	return name ? ({ [key]: name } as Record<Key, string>) : {};
}

/** Sums of the whole request; tokens of server-side compactions are billed beside them. */
function usageOf(usage: unknown): Usage {
	const iterations = property(usage, "iterations");
	const compactions = Array.isArray(iterations)
		? iterations.filter((one) => property(one, "type") === "compaction")
		: [];
	return [usage, ...compactions].map(plainUsage).reduce((sum, one) => ({
		input: sum.input + one.input,
		read: sum.read + one.read,
		write: sum.write + one.write,
		writeOneHour: sum.writeOneHour + one.writeOneHour,
		output: sum.output + one.output,
		reasoning: sum.reasoning + one.reasoning,
	}));
}

function plainUsage(usage: unknown): Usage {
	const write = countIn(usage, "cache_creation_input_tokens");
	const hour = countIn(property(usage, "cache_creation"), "ephemeral_1h_input_tokens");
	return {
		input: countIn(usage, "input_tokens"),
		read: countIn(usage, "cache_read_input_tokens"),
		write,
		writeOneHour: Math.min(write, hour),
		output: countIn(usage, "output_tokens"),
		reasoning: 0,
	};
}

/** `unavailable` and a missing reason say nothing. */
function missReasonOf(message: unknown): ProviderMissReason | undefined {
	const reason = property(property(message, "diagnostics"), "cache_miss_reason");
	const type = nameOf(property(reason, "type"));
	if (!type) return undefined;
	const tokens = countIn(reason, "cache_missed_input_tokens");
	return { type, ...(tokens > 0 && { tokens }) };
}

function thinkingOf(message: unknown): WireAnswer["thinking"] {
	const list = property(message, "input_transformations");
	const types = Array.isArray(list) ? list.map((one) => property(one, "type")) : [];
	const dropped = types.filter((type) => type === "thinking_dropped").length;
	const allowed = types.filter((type) => type === "thinking_mismatch_allowed").length;
	return dropped + allowed > 0 ? { dropped, allowed } : undefined;
}

/** The fields with a value: `null` says nothing new. */
function stated(usage: unknown): Record<string, unknown> {
	const entries = isRecord(usage) ? Object.entries(usage) : [];
	return Object.fromEntries(entries.filter(([, value]) => value !== null));
}
