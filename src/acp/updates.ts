import type { SessionUpdate } from "@agentclientprotocol/sdk";
import { property } from "../core/property.ts";
import type { Data } from "../protocol/index.ts";
import { fenced } from "./fenced.ts";
import { endedCall, kindOf, resultContent, startedCall, titleOf } from "./tool-calls.ts";

export type Severity = "info" | "warning" | "error";

interface OpenCall {
	readonly tool: string;
	readonly args: unknown;
}

/** The message that is being streamed, and what of each of its parts was sent. */
interface Streamed {
	readonly key: string;
	readonly sent: Map<number, string>;
	/** Deltas are missing. The rest is sent with the end of the message. */
	isBroken: boolean;
}

/** Messages of the history that may come again as events. */
const MAX_KNOWN = 500;

/**
 * Translates messages and events of a session into updates for an editor. Pure but for what was sent before: a text is
 * sent once, and every call that was shown as running ends.
 */
export class UpdateTranslator {
	readonly #cwd: string;
	readonly #notice: (severity: Severity, text: string) => SessionUpdate;
	readonly #openCalls = new Map<string, OpenCall>();
	readonly #known = new Set<string>();
	#streamed: Streamed | undefined;
	#echoes = 0;
	#reportLine: string | undefined;

	constructor(cwd: string, notice: (severity: Severity, text: string) => SessionUpdate) {
		this.#cwd = cwd;
		this.#notice = notice;
	}

	/** The next message of the user is the editor's own, which it shows already. */
	expectEcho(): void {
		this.#echoes = 1;
	}

	forgetEcho(): void {
		this.#echoes = 0;
	}

	/** Deltas were lost. */
	gap(): void {
		if (this.#streamed) this.#streamed.isBroken = true;
	}

	/** The branch that ends at `leafId`, from its beginning, with what compactions removed from the context. */
	history(entries: readonly Data<"SessionEntry">[], leafId: string | null): SessionUpdate[] {
		const branch = branchOf(entries, leafId);
		for (const { message } of branch.slice(-MAX_KNOWN)) {
			if (message) this.#known.add(keyOf(message));
		}
		return branch.flatMap((entry) => this.#entry(entry));
	}

	event(event: Data<"SessionEvent">): SessionUpdate[] {
		switch (event.type) {
			case "message_start":
				if (event.message.role === "assistant") this.#begin(event.message);
				return [];
			case "message_update":
				return this.#delta(event.assistantMessageEvent);
			case "message_end":
				return this.#end(event.message);
			case "tool_execution_start":
				return this.#started(event.toolCallId, event.toolName, event.args);
			case "tool_execution_update": {
				if (!this.#openCalls.has(event.toolCallId)) return [];
				const content = resultContent(property(event.partialResult, "content"));
				return content.length > 0 ? [this.#callUpdate(event.toolCallId, { content })] : [];
			}
			case "tool_execution_end":
				return this.#ended(event.toolCallId, property(event.result, "content"), event.isError);
			case "agent_settled": {
				this.#streamed = undefined;
				const open = this.endOpenCalls();
				const lost = "The server was restarted during the answer: send the prompt again.";
				return event.interrupted ? [...open, this.#notice("error", lost)] : open;
			}
			case "entry_appended":
				return event.entry.type === "custom" ? this.#custom(event.entry) : [];
			case "session_info_changed":
				return [{ sessionUpdate: "session_info_update", title: event.name ?? null }];
			case "auto_retry_start": {
				const { attempt, maxAttempts, errorMessage } = event;
				return [this.#notice("warning", `Retry ${attempt} of ${maxAttempts}: ${errorMessage}`)];
			}
			case "extension_error":
				return [this.#notice("error", `An extension failed: ${event.error}`)];
			case "session_replaced":
				return [
					this.#notice(
						"warning",
						"Another client replaced this session: load it to see its history.",
					),
				];
			case "extension_ui_request":
				if (event.method !== "notify" || event.message === this.#reportLine) return [];
				return [this.#notice(event.notifyType ?? "info", event.message)];
			default:
				return [];
		}
	}

	/** Calls that were shown as running and have no result: the run ended without one. */
	endOpenCalls(): SessionUpdate[] {
		const ids = [...this.#openCalls.keys()];
		this.#openCalls.clear();
		return ids.map((id) => this.#callUpdate(id, { status: "failed" }));
	}

	#entry(entry: Data<"SessionEntry">): SessionUpdate[] {
		if (entry.type === "message" && entry.message) return this.#whole(entry.message);
		if (entry.type === "custom_message") {
			const shown = { ...entry, role: "custom", timestamp: Date.parse(entry.timestamp) };
			return this.#whole(shown);
		}
		if (entry.type === "custom") return this.#custom(entry);
		return entry.type === "compaction" ? [this.#notice("info", "The context was compacted.")] : [];
	}

	#begin(message: Data<"AgentMessage">): void {
		const key = keyOf(message);
		this.#streamed = this.#known.has(key) ? undefined : { key, sent: new Map(), isBroken: false };
	}

	#delta(event: Data<"AssistantMessageEvent">): SessionUpdate[] {
		const streamed = this.#streamed;
		if (!streamed || streamed.isBroken) return [];
		switch (event.type) {
			case "text_delta":
			case "thinking_delta": {
				const { contentIndex: at, delta } = event;
				streamed.sent.set(at, (streamed.sent.get(at) ?? "") + delta);
				const kind = event.type === "text_delta" ? "agent_message_chunk" : "agent_thought_chunk";
				return [chunk(kind, delta, streamed.key)];
			}
			case "toolcall_start":
				return event.id === "" ? [] : this.#announced(event.id, event.toolName);
			default:
				return [];
		}
	}

	#announced(toolCallId: string, tool: string): SessionUpdate[] {
		if (this.#openCalls.has(toolCallId)) return [];
		this.#openCalls.set(toolCallId, { tool, args: undefined });
		const shown = { title: titleOf(tool, undefined), name: tool, kind: kindOf(tool) };
		return [{ sessionUpdate: "tool_call", toolCallId, ...shown, status: "pending" }];
	}

	#started(toolCallId: string, tool: string, args: unknown): SessionUpdate[] {
		if (this.#known.has(resultKey(toolCallId))) return [];
		const isShown = this.#openCalls.get(toolCallId)?.args !== undefined;
		const announced = this.#announced(toolCallId, tool);
		this.#openCalls.set(toolCallId, { tool, args });
		const started = isShown ? {} : startedCall(tool, args, this.#cwd);
		return [...announced, this.#callUpdate(toolCallId, { ...started, status: "in_progress" })];
	}

	#ended(toolCallId: string, result: unknown, isError: boolean): SessionUpdate[] {
		const call = this.#openCalls.get(toolCallId);
		if (!call) return [];
		this.#openCalls.delete(toolCallId);
		return [this.#callUpdate(toolCallId, endedCall({ ...call, cwd: this.#cwd }, result, isError))];
	}

	#end(message: Data<"AgentMessage">): SessionUpdate[] {
		if (message.role === "toolResult") return []; // the end of its execution has it
		if (this.#known.has(keyOf(message))) return [];
		if (message.role === "user" && this.#echoes > 0) {
			this.#echoes--;
			return [];
		}
		return this.#whole(message);
	}

	/** A complete message, without what was streamed of it. */
	#whole(message: Data<"AgentMessage">): SessionUpdate[] {
		const key = keyOf(message);
		switch (message.role) {
			case "user":
				return contentChunks("user_message_chunk", message.content, key);
			case "assistant":
				return this.#assistant(message, key);
			case "toolResult":
				return this.#ended(message.toolCallId ?? "", message.content, message.isError === true);
			case "bashExecution":
				return shellCommand(message, key);
			case "custom":
				if (property(message, "display") === false) return [];
				return contentChunks("agent_message_chunk", message.content, key);
			default:
				return [];
		}
	}

	#assistant(message: Data<"AgentMessage">, key: string): SessionUpdate[] {
		const sent = this.#streamed?.key === key ? this.#streamed.sent : new Map<number, string>();
		this.#streamed = undefined;
		const blocks = Array.isArray(message.content) ? message.content : [];
		const updates = blocks.flatMap((block, at): SessionUpdate[] => {
			const rest = (text: unknown) => {
				const whole = typeof text === "string" ? text : "";
				const before = sent.get(at) ?? "";
				return whole.startsWith(before) ? whole.slice(before.length) : "";
			};
			switch (property(block, "type")) {
				case "text":
					return texts("agent_message_chunk", rest(property(block, "text")), key);
				case "thinking":
					return texts("agent_thought_chunk", rest(property(block, "thinking")), key);
				case "toolCall":
					return this.#called(block);
				default:
					return [];
			}
		});
		if (message.stopReason !== "error") return updates;
		return [...updates, this.#notice("error", message.errorMessage ?? "The model did not answer.")];
	}

	#called(block: unknown): SessionUpdate[] {
		const id = String(property(block, "id"));
		const tool = String(property(block, "name"));
		const args = property(block, "arguments");
		const announced = this.#announced(id, tool);
		this.#openCalls.set(id, { tool, args });
		return [...announced, this.#callUpdate(id, startedCall(tool, args, this.#cwd))];
	}

	/** Reports of pi-strata's commands. A notice may repeat their first line, for clients that show no entries. */
	#custom(entry: Data<"SessionEntry">): SessionUpdate[] {
		const text = property(property(entry, "data"), "text");
		if (property(entry, "customType") !== "strata-report" || typeof text !== "string") return [];
		this.#reportLine = text.split("\n", 1)[0];
		return [chunk("agent_message_chunk", fenced(text), entry.id)];
	}

	#callUpdate(
		toolCallId: string,
		fields: Omit<
			Extract<SessionUpdate, { sessionUpdate: "tool_call_update" }>,
			"sessionUpdate" | "toolCallId"
		>,
	): SessionUpdate {
		return { sessionUpdate: "tool_call_update", toolCallId, ...fields };
	}
}

type ChunkKind = "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk";

function chunk(sessionUpdate: ChunkKind, text: string, messageId: string): SessionUpdate {
	return { sessionUpdate, content: { type: "text", text }, messageId };
}

function texts(kind: ChunkKind, text: string, messageId: string): SessionUpdate[] {
	return text === "" ? [] : [chunk(kind, text, messageId)];
}

function contentChunks(kind: ChunkKind, content: unknown, messageId: string): SessionUpdate[] {
	if (typeof content === "string") return texts(kind, content, messageId);
	if (!Array.isArray(content)) return [];
	return content.flatMap((block): SessionUpdate[] => {
		const text = property(block, "text");
		if (typeof text === "string") return texts(kind, text, messageId);
		const data = property(block, "data");
		if (property(block, "type") !== "image" || typeof data !== "string" || data === "") return [];
		const mimeType = String(property(block, "mimeType"));
		return [{ sessionUpdate: kind, content: { type: "image", data, mimeType }, messageId }];
	});
}

/** A shell command of the user, which another client sent. */
function shellCommand(message: Data<"AgentMessage">, key: string): SessionUpdate[] {
	const command = String(property(message, "command"));
	const isFailed = property(message, "exitCode") !== 0;
	return [
		{
			sessionUpdate: "tool_call",
			toolCallId: key,
			title: titleOf("bash", { command }),
			kind: "execute",
			status: isFailed ? "failed" : "completed",
			content: resultContent(String(property(message, "output") ?? "")),
		},
	];
}

function keyOf({ role, timestamp, toolCallId }: Data<"AgentMessage">): string {
	return role === "toolResult" ? resultKey(toolCallId ?? "") : `${role}:${timestamp ?? 0}`;
}

function resultKey(toolCallId: string): string {
	return `toolResult:${toolCallId}`;
}

function branchOf(entries: readonly Data<"SessionEntry">[], leafId: string | null) {
	const byId = new Map(entries.map((entry) => [entry.id, entry]));
	const branch: Data<"SessionEntry">[] = [];
	// Deleting what was visited ends a cycle, which a damaged file may have.
	for (let id = leafId; id !== null; ) {
		const entry = byId.get(id);
		if (!entry) break;
		byId.delete(id);
		branch.push(entry);
		id = entry.parentId;
	}
	return branch.reverse();
}
