import type { Ttl } from "../core/bill.ts";
import { countIn, isRecord, property } from "../core/property.ts";
import { answerOf } from "./answer.ts";
import type { AnswerFold, Format, ProviderMissReason, Usage, WireAnswer } from "./format.ts";
import type { JsonSpan } from "./json-span.ts";
import { breakpointOf, nameOf, type Piece, type PieceKind } from "./piece.ts";
import { listOf, PieceList, parsed, settings, textOf, ttlOf } from "./piece-list.ts";

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
		const stated = (name: string) => parsed(body.get(name));
		const output = stated("output_config");
		const effort = property(output, "effort");
		return {
			model: textOf(body.get("model")) ?? "",
			pieces,
			...ttlOf(pieces),
			settings: settings({
				thinking: stated("thinking"),
				effort: effort === DEFAULT_EFFORT ? undefined : effort,
				textFormat: property(output, "format"),
				toolChoice: stated("tool_choice"),
				serviceTier: stated("service_tier"),
				speed: stated("speed"),
				contextManagement: stated("context_management"),
				images: listOf(body.get("messages")).some(hasImage) || undefined,
			}),
		};
	},
	usage: usageOf,
	answer: () => new AnthropicAnswer(),
};

/** Stating it is the same as not stating any. */
const DEFAULT_EFFORT = "high";

/** Anthropic caches the messages of a prompt with images apart from those of one without. */
function hasImage(message: JsonSpan): boolean {
	return (
		message.bytes.subarray(message.start, message.end).includes('"image"') &&
		holdsImage(message.value)
	);
}

function holdsImage(value: unknown): boolean {
	if (property(value, "type") === "image") return true;
	const content = property(value, "content");
	return Array.isArray(content) && content.some(holdsImage);
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
	#edits: unknown;
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
				this.#edits = property(event, "context_management") ?? this.#edits;
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
		const hasBill = Object.keys(this.#usage).length > 0;
		return answerOf({
			isDone: this.#isDone && isWhole,
			...{ id, model, error: this.#error },
			usage: hasBill ? usageOf(this.#usage) : undefined,
			rounds: roundsOf(this.#usage),
			isCompacted: iterationsOf(this.#usage, "compaction").length > 0 || undefined,
			cleared: clearedBy(this.#edits),
			tier: tierOf(this.#usage),
			missReason: missReasonOf(this.#message),
			thinking: thinkingOf(this.#message),
		});
	}

	#take(message: unknown): void {
		if (!isRecord(message)) return;
		this.#message = message;
		this.#usage = isRecord(message.usage) ? { ...message.usage } : {};
		this.#edits = message.context_management;
	}
}

/** Sums of the whole request; tokens of server-side compactions are billed beside them. */
function usageOf(usage: unknown): Usage {
	return [usage, ...iterationsOf(usage, "compaction")].map(plainUsage).reduce((sum, one) => ({
		input: sum.input + one.input,
		read: sum.read + one.read,
		write: sum.write + one.write,
		writeOneHour: sum.writeOneHour + one.writeOneHour,
		output: sum.output + one.output,
		reasoning: sum.reasoning + one.reasoning,
	}));
}

/** The provider's calls of a model for one request, of one kind. */
function iterationsOf(usage: unknown, type: "message" | "compaction"): readonly unknown[] {
	const iterations = property(usage, "iterations");
	if (!Array.isArray(iterations)) return [];
	return iterations.filter((one) => property(one, "type") === type);
}

function roundsOf(usage: unknown): WireAnswer["rounds"] {
	const messages = iterationsOf(usage, "message");
	const isOne = messages.length + iterationsOf(usage, "compaction").length < 2;
	if (isOne || messages.length === 0) return undefined;
	const [first, last] = [messages[0], messages.at(-1)].map((one) => {
		const { output: _, reasoning: __, ...prompt } = plainUsage(one);
		return prompt;
	});
	return first && last && { first, last };
}

/** Each request counts all that is left out of it. */
function clearedBy(management: unknown): number | undefined {
	const edits = property(management, "applied_edits");
	if (!Array.isArray(edits)) return undefined;
	return edits.reduce((sum, edit) => sum + countIn(edit, "cleared_input_tokens"), 0) || undefined;
}

/** A speed other than the standard one is priced apart, whatever the tier. */
function tierOf(usage: unknown): unknown {
	const speed = property(usage, "speed");
	return typeof speed === "string" && speed !== "standard"
		? speed
		: property(usage, "service_tier");
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
