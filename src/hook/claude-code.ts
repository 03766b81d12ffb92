import { isAbsolute } from "node:path";
import { isRecord } from "../core/property.ts";
import { estimateTokens } from "../core/tokens.ts";
import { formOf, type ToolForm } from "./claude-tools.ts";
import type { NewResult } from "./in-view.ts";
import { fitNumbered } from "./numbered.ts";
import type { Outcome } from "./shortener.ts";

/** What Claude Code says about a call of a tool that has ended. */
export interface ClaudeEvent {
	readonly sessionId: string;
	/** Of the thread that made the call. */
	readonly transcript: string;
	readonly agentId: string | undefined;
	/** Of the session's own thread. */
	readonly mainTranscript: string;
	readonly cwd: string;
	readonly tool: string;
	readonly form: ToolForm;
	readonly response: unknown;
	readonly result: NewResult;
}

/** Reads a `PostToolUse` event; a string says why the result stays as it is. */
export function parseClaudeEvent(value: unknown): ClaudeEvent | string {
	if (!isRecord(value) || value.hook_event_name !== "PostToolUse") return "not a PostToolUse event";
	const { session_id: sessionId, transcript_path: path, cwd, tool_name: tool } = value;
	const { tool_use_id: id, tool_input: input, tool_response: response, agent_id: agent } = value;
	const isNamed = [sessionId, path, cwd, tool, id].every((one) => typeof one === "string");
	if (!isNamed) return "a field of the event is missing";
	if (agent !== undefined && (typeof agent !== "string" || !/^[\w-]{1,64}$/.test(agent))) {
		return "the sub-agent has an unusual id";
	}
	const main = String(path);
	if (!isAbsolute(main) || !main.endsWith(".jsonl")) return "the transcript has an unusual path";
	const form = formOf(String(tool));
	const text = form?.shownAs(response);
	if (!form || text === undefined) return `the form of this result of ${tool} is not known`;
	return {
		sessionId: String(sessionId),
		// Each sub-agent has a file of its own.
		transcript: agent ? main.replace(/\.jsonl$/, `/subagents/agent-${agent}.jsonl`) : main,
		agentId: agent,
		mainTranscript: main,
		cwd: String(cwd),
		tool: String(tool),
		form,
		response,
		result: newResult({ id: String(id), tool: String(tool), input, text }, form),
	};
}

function newResult(result: NewResult, { isNumbered }: ToolForm): NewResult {
	if (!isNumbered) return result;
	return { ...result, fit: (short, path) => fitNumbered(short, result.text, path) };
}

export interface ClaudeAnswer {
	/** What the hook prints; empty if the result stays as it is. */
	readonly output: string;
	/** What a request is shorter by, in tokens by estimate. */
	readonly savedTokens: number;
	readonly why?: string;
}

/** `updatedToolOutput` must have the tool's own form. */
export function claudeAnswer(event: ClaudeEvent, outcome: Outcome): ClaudeAnswer {
	const { form, response, result } = event;
	if (outcome.kind === "stays") return { output: "", savedTokens: 0, why: outcome.why };
	const updatedToolOutput = form.showing(outcome.text, response);
	if (form.shownAs(updatedToolOutput) !== outcome.text) {
		return { output: "", savedTokens: 0, why: "the tool cannot show it" };
	}
	const savedTokens = sizeOf(event, result.text) - sizeOf(event, outcome.text);
	if (outcome.kind === "shadow") return { output: "", savedTokens, why: "shadow" };
	const hookSpecificOutput = { hookEventName: "PostToolUse", updatedToolOutput };
	return { output: JSON.stringify({ hookSpecificOutput }), savedTokens };
}

/** Tokens of the block that carries the result, with the role of its message. */
function sizeOf({ form, result }: ClaudeEvent, content: string): number {
	const block = { tool_use_id: result.id, type: "tool_result", content, ...form.block };
	return estimateTokens(Buffer.byteLength(`user ${JSON.stringify(block)}`));
}
