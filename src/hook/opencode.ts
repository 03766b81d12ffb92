import type { CallResult } from "../birth/engine.ts";
import { loadConfig } from "../core/config.ts";
import { agentFolder, projectRoot } from "../core/places.ts";
import { isRecord, property } from "../core/property.ts";
import { estimateTokens } from "../core/tokens.ts";
import type { HookOptions } from "./claude-hook.ts";
import type { Call, InView, NewResult } from "./in-view.ts";
import { Shortener } from "./shortener.ts";

/** What our plugin for opencode hands over: a call that has ended, and the session's messages. */
interface OpencodeEvent {
	readonly sessionId: string;
	readonly cwd: string;
	readonly result: NewResult;
	readonly view: InView;
}

interface OpencodeAnswer {
	/** `{"output": …}`; empty if the result stays as it is. */
	readonly output: string;
	readonly savedTokens: number;
	readonly why?: string;
	readonly sessionId?: string;
	readonly id?: string;
}

/** In doubt, the result stays as it is. */
export async function handleOpencode(
	value: unknown,
	{ env, touchesExcluded, isShadow }: HookOptions,
): Promise<OpencodeAnswer> {
	const event = parseOpencodeEvent(value);
	if (typeof event === "string") return { output: "", savedTokens: 0, why: event };
	const { sessionId, cwd, result, view } = event;
	const { config } = loadConfig({ agentDir: agentFolder(env), cwd });
	const root = projectRoot(cwd);
	const shortener = new Shortener({ config, root, env, touchesExcluded, isShadow });
	const outcome = await shortener.shorten(result, view, cwd);
	const about = { sessionId, id: result.id };
	if (outcome.kind === "stays") return { output: "", savedTokens: 0, why: outcome.why, ...about };
	const savedTokens = sizeOf(result, result.text) - sizeOf(result, outcome.text);
	const isShown = outcome.kind === "short";
	return { output: isShown ? JSON.stringify({ output: outcome.text }) : "", savedTokens, ...about };
}

/** A string says why the result stays as it is. */
function parseOpencodeEvent(value: unknown): OpencodeEvent | string {
	if (!isRecord(value)) return "not an event";
	const { sessionID, callID: id, tool, args: input, output: text, cwd, messages } = value;
	const isNamed = [sessionID, id, tool, text, cwd].every((one) => typeof one === "string");
	if (!isNamed || !Array.isArray(messages)) return "a field of the event is missing";
	const view = viewIn(messages, String(id));
	if (!view) return "what the model sees is not known";
	const result = { id: String(id), tool: String(tool), input, text: String(text) };
	return { sessionId: String(sessionID), cwd: String(cwd), result, view };
}

/**
 * The message of a call answers a request with all messages before it, from the last summary on. A
 * result that opencode has pruned is not shown any more.
 */
function viewIn(messages: readonly unknown[], callId: string): InView | undefined {
	const last = messages.findLastIndex((one) => toolParts(one).some(({ id }) => id === callId));
	if (last === -1 || last !== messages.length - 1) return undefined;
	const summary = messages.findLastIndex(isSummary);
	const earlier = messages.slice(summary + 1, last).flatMap(toolParts);
	const siblings = toolParts(messages[last]).filter(({ id }) => id !== callId);
	const results: CallResult[] = [];
	const unseen: Call[] = [...siblings];
	for (const { state, ...call } of earlier) {
		const text = property(state, "output");
		const isPruned = property(property(state, "time"), "compacted") !== undefined;
		const hasFiles = [property(state, "attachments") ?? []].flat().length > 0;
		const isShown = property(state, "status") === "completed" && typeof text === "string";
		if (isShown && !isPruned && !hasFiles) results.push({ ...call, text });
		else unseen.push(call);
	}
	const ids = new Set([callId, ...[...results, ...unseen].map(({ id }) => id)]);
	// A call that is named twice cannot be referred to.
	return ids.size === results.length + unseen.length + 1 ? { results, unseen } : undefined;
}

function toolParts(message: unknown): (Call & { readonly state: unknown })[] {
	const parts = property(message, "parts");
	return (Array.isArray(parts) ? parts : []).flatMap((part) => {
		const [id, tool, state] = ["callID", "tool", "state"].map((key) => property(part, key));
		if (property(part, "type") !== "tool") return [];
		return { id: String(id), tool: String(tool), input: property(state, "input"), state };
	});
}

/** A summary of what came before it, or the request for one. */
function isSummary(message: unknown): boolean {
	const info = property(message, "info");
	const parts = property(message, "parts");
	const isAsked =
		Array.isArray(parts) && parts.some((part) => property(part, "type") === "compaction");
	return isAsked || (property(info, "role") === "assistant" && property(info, "summary") === true);
}

/** Tokens of the block that carries the result, with the role of its message. */
function sizeOf({ id }: NewResult, content: string): number {
	const block = { type: "tool_result", tool_use_id: id, content };
	return estimateTokens(Buffer.byteLength(`user ${JSON.stringify(block)}`));
}
