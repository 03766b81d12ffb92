import type { AgentSessionEvent } from "@earendil-works/pi-coding-agent";
import type { Data } from "../../protocol/index.ts";

interface EventTranslatorOptions {
	emit(event: Data<"SessionEvent">): void;
	/** Whether a client aborted the run. Pi's own events show an abort during a tool call as an error. */
	wasAborted(): boolean;
}

/** Maximum characters of a shell command's output that are streamed. The result contains the tail. */
const MAX_BASH_CHARACTERS = 1024 * 1024;
/** Minimum time between updates of one tool call, since each update repeats all output so far. */
const UPDATE_PAUSE_MS = 200;
const MAX_UPDATE_CHARACTERS = 16 * 1024;

/** Translates pi's events: sends deltas instead of growing messages, and each text only once. */
export class EventTranslator {
	readonly #options: EventTranslatorOptions;
	#usage: string | undefined;
	#bashCharacters = 0;
	/** By tool call: the timer of its pause, and the latest update held back. */
	readonly #updates = new Map<string, { timer: NodeJS.Timeout; next?: Data<"SessionEvent"> }>();

	constructor(options: EventTranslatorOptions) {
		this.#options = options;
	}

	translate(event: AgentSessionEvent) {
		switch (event.type) {
			case "message_start":
				this.#usage = undefined;
				return this.#send({ type: event.type, message: withoutText(event.message) });
			case "message_update":
				return this.#sendDelta(event);
			case "message_end": {
				const message = event.message as Data<"AgentMessage">;
				const hasFailed = message.stopReason === "error" || message.stopReason === "aborted";
				const isFailedAnswer = message.role === "assistant" && hasFailed;
				return this.#send({ type: event.type, message, ...(isFailedAnswer && this.#aborted()) });
			}
			case "turn_end":
				return this.#send({
					type: event.type,
					message: withoutText(event.message),
					toolResults: event.toolResults.map(withoutText),
				});
			case "agent_end":
				return this.#send({
					type: event.type,
					messages: [],
					messageCount: event.messages.length,
					willRetry: event.willRetry,
					...this.#aborted(),
				});
			case "agent_settled":
				return this.#send({ type: event.type, ...this.#aborted() });
			case "tool_execution_update":
				return this.#sendThrottled(event.toolCallId, event as Data<"SessionEvent">);
			case "tool_execution_start":
				return this.#send({ ...event, atMs: Date.now() } as Data<"SessionEvent">);
			case "tool_execution_end":
				this.#dropUpdates(event.toolCallId);
				return this.#send({ ...event, atMs: Date.now() } as Data<"SessionEvent">);
			case "bash_execution_update":
				return this.#sendBash(event);
			default:
				return this.#send(event as Data<"SessionEvent">);
		}
	}

	bashStarts(): void {
		this.#bashCharacters = 0;
	}

	close(): void {
		for (const callId of [...this.#updates.keys()]) this.#dropUpdates(callId);
	}

	#aborted() {
		return this.#options.wasAborted() && { aborted: true as const };
	}

	#send(event: Data<"SessionEvent">, most?: number): void {
		const { value, cut } = bounded(event, most);
		this.#options.emit(cut ? ({ ...value, truncated: true } as Data<"SessionEvent">) : value);
	}

	#sendDelta(event: Extract<AgentSessionEvent, { type: "message_update" }>): void {
		const message = event.message as Data<"AgentMessage">;
		// Most providers report usage once or twice per answer: send only changes.
		const usage = JSON.stringify(message.usage);
		const isNew = usage !== undefined && usage !== this.#usage;
		this.#usage = usage;
		this.#options.emit({
			type: "message_update",
			...(isNew && message.usage && { usage: message.usage }),
			assistantMessageEvent: deltaOf(event.assistantMessageEvent),
		});
	}

	/** Coalesces updates: only the latest one that arrives during a pause is sent. */
	#sendThrottled(callId: string, event: Data<"SessionEvent">): void {
		const paused = this.#updates.get(callId);
		if (paused) {
			paused.next = event;
			return;
		}
		this.#send(event, MAX_UPDATE_CHARACTERS);
		const timer = setTimeout(() => {
			const next = this.#updates.get(callId)?.next;
			this.#updates.delete(callId);
			if (next) this.#sendThrottled(callId, next);
		}, UPDATE_PAUSE_MS);
		timer.unref();
		this.#updates.set(callId, { timer });
	}

	#dropUpdates(callId: string): void {
		clearTimeout(this.#updates.get(callId)?.timer);
		this.#updates.delete(callId);
	}

	#sendBash(event: Extract<AgentSessionEvent, { type: "bash_execution_update" }>): void {
		if (this.#bashCharacters > MAX_BASH_CHARACTERS) return;
		this.#bashCharacters += event.delta.length;
		const isLast = this.#bashCharacters > MAX_BASH_CHARACTERS;
		const delta = isLast ? "\n[more output follows, but it is not streamed]\n" : event.delta;
		this.#options.emit({ ...event, delta } as Data<"SessionEvent">);
	}
}

/** Removes the text, because only `message_end` carries it. */
function withoutText(message: object): Data<"AgentMessage"> {
	const { role, timestamp, model, stopReason, errorMessage, toolCallId, toolName, isError } =
		message as Data<"AgentMessage">;
	const kept = { role, timestamp, model, stopReason, errorMessage, toolCallId, toolName, isError };
	const known = Object.entries(kept).filter(([, value]) => value !== undefined);
	return { content: [], ...Object.fromEntries(known) } as Data<"AgentMessage">;
}

type PiDelta = Extract<AgentSessionEvent, { type: "message_update" }>["assistantMessageEvent"];

function deltaOf(event: PiDelta): Data<"AssistantMessageEvent"> {
	switch (event.type) {
		case "start":
			return { type: event.type };
		case "text_delta":
		case "thinking_delta":
		case "toolcall_delta":
			return { type: event.type, contentIndex: event.contentIndex, delta: event.delta };
		case "toolcall_start": {
			const call = event.partial.content[event.contentIndex];
			const { id = "", name = "" } = call?.type === "toolCall" ? call : {};
			return { type: event.type, contentIndex: event.contentIndex, id, toolName: name };
		}
		case "done":
		case "error":
			return { type: event.type, reason: event.reason };
		default:
			return { type: event.type, contentIndex: event.contentIndex };
	}
}

const MAX_EVENT_CHARACTERS = 256 * 1024;

/** Returns the value if it fits in `most` characters, otherwise a cut copy. The session file is never cut. */
export function bounded<Value>(value: Value, most = MAX_EVENT_CHARACTERS) {
	if (measure(value, most) <= most) return { value, cut: false };
	return { value: cutTo(value, { left: most }, 0) as Value, cut: true };
}

export function clipText(text: string, most: number): string {
	if (text.length <= most) return text;
	const kept = wholeCharacters(text, most);
	return `${kept}\n[${text.length - kept.length} more characters are not shown here]`;
}

/** Maximum depth of a cut copy. No event of pi is that deep. */
const MAX_DEPTH = 64;
const SMALL = 8;

function measure(value: unknown, enough: number): number {
	let total = 0;
	const stack: unknown[] = [value];
	while (stack.length > 0 && total <= enough) {
		const next = stack.pop();
		total += SMALL;
		if (typeof next === "string") total += next.length;
		else if (Array.isArray(next)) for (const item of next) stack.push(item);
		else if (typeof next === "object" && next !== null) {
			for (const [key, item] of Object.entries(next)) {
				total += key.length;
				stack.push(item);
			}
		}
	}
	return total;
}

function cutTo(value: unknown, budget: { left: number }, depth: number): unknown {
	budget.left -= SMALL;
	if (typeof value === "string") return cutString(value, budget);
	if (typeof value !== "object" || value === null) return value;
	if (depth === MAX_DEPTH) return undefined;
	if (Array.isArray(value)) {
		const items: unknown[] = [];
		for (const item of value) {
			if (budget.left <= 0) break;
			items.push(cutTo(item, budget, depth + 1));
		}
		return items;
	}
	const copy: Record<string, unknown> = {};
	for (const [key, item] of Object.entries(value)) {
		if (budget.left <= (typeof item === "object" ? 0 : -SLACK)) continue;
		budget.left -= key.length;
		const isPicture = key === "data" && "mimeType" in value && typeof item === "string";
		// A partial picture is useless: drop it.
		copy[key] = isPicture && item.length > budget.left ? "" : cutTo(item, budget, depth + 1);
	}
	return copy;
}

/** Strings up to `MAX_NAME` (names, ids) are not cut, even if up to `SLACK` over budget. */
const MAX_NAME = 256;
const SLACK = 16 * 1024;

function cutString(text: string, budget: { left: number }): string {
	const kept = text.length <= MAX_NAME ? text : clipText(text, Math.max(0, budget.left));
	budget.left -= kept.length;
	return kept;
}

/** The first `most` UTF-16 units, without half a surrogate pair at the end. */
export function wholeCharacters(text: string, most: number): string {
	const last = text.charCodeAt(most - 1);
	const splitsPair = last >= 0xd800 && last <= 0xdbff && most < text.length;
	return text.slice(0, splitsPair ? most - 1 : most);
}
