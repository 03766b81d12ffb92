import type { PromptTokens } from "../../src/core/bill.ts";
import { hashBytes } from "../../src/core/hash.ts";
import { headOf, type TracedRequest, type TracePiece } from "../../src/traffic/trace.ts";

/** A piece of `bytes` bytes with content of its own for each `text`. */
export function piece(
	part: TracePiece["part"],
	kind: TracePiece["kind"],
	text: string,
	bytes = 100,
): TracePiece {
	const hash = hashBytes(`${kind} ${text}`).slice(0, 32);
	return { part, kind, label: `${kind} ${text}`, hash, bytes };
}

export const tools = (...names: string[]) => names.map((name) => piece("tools", "tool", name));
export const system = (text: string) => piece("system", "system", text);
export const user = (text: string) => piece("messages", "user", text);
export const answer = (text: string) => piece("messages", "text", text);
export const call = (text: string) => piece("messages", "call", text);
export const result = (text: string) => piece("messages", "result", text);

export const HEAD = [...tools("read", "bash"), system("s")];

/** A turn: the model's call and its result. */
export const turn = (name: string) => [call(name), result(name)];

interface Said extends Partial<Omit<TracedRequest, "head" | "messages" | "tokens">> {
	readonly head?: readonly TracePiece[];
	readonly messages: readonly TracePiece[];
	readonly session?: string;
	readonly subagent?: string;
	readonly tokens?: Partial<PromptTokens> | undefined;
}

let clock = 1_000_000;

/** A request; each starts a second after the one before and is answered half a second later. */
export function request({ head = HEAD, messages, session, subagent, tokens, ...rest }: Said) {
	clock += 1000;
	const startedMs = rest.startedMs ?? clock;
	clock = Math.max(clock, startedMs);
	const traced: TracedRequest = {
		...{ format: "anthropic", model: "claude-opus-5", isPartial: false, settings: {} },
		...{ cachedMs: startedMs + 500, messages, head: headOf(head) },
		speaker: {
			agent: "claude-code",
			...(session && { session }),
			...(subagent && { subagent }),
		},
		...rest,
		startedMs,
		tokens: { input: 0, read: 0, write: 0, writeOneHour: 0, ...(tokens ?? { input: 1 }) },
	};
	return traced;
}
