import { hashBytes } from "../core/hash.ts";
import { property } from "../core/property.ts";
import { nameOf } from "./piece.ts";

type Agent = "claude-code" | "codex" | "opencode" | "gemini-cli" | "pi" | "other";

/** Who sent a request, as far as its headers and body say. */
export interface Speaker {
	readonly agent: Agent;
	readonly version?: string;
	/** The agent's own name for the session. */
	readonly session?: string;
	/** Set for a sub-agent. */
	readonly subagent?: string;
	readonly parent?: string;
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

const AGENTS: readonly { readonly agent: Agent; readonly userAgent: RegExp }[] = [
	{ agent: "claude-code", userAgent: /\bclaude-(?:cli|code)\/([\w.-]+)/i },
	{ agent: "codex", userAgent: /\bcodex(?:_[a-z]+)*\/([\w.-]+)/i },
	{ agent: "opencode", userAgent: /\bopencode\/([\w.-]+)/i },
	{ agent: "gemini-cli", userAgent: /\bGeminiCLI(?:-[\w.-]+)?\/([\w.-]+)/i },
	{ agent: "pi", userAgent: /(?:^|\s)pi(?:-coding-agent)?\/([\w.-]+)/i },
];

/** `headers` have lower-case names. */
export function speakerOf(headers: Headers, metadata?: unknown): Speaker {
	const known = agentOf(String(headers["user-agent"] ?? ""));
	const agent = headers["x-claude-code-session-id"] ? "claude-code" : known.agent;
	// What an unknown client puts into such a field may be a secret.
	const kept = (said: string | undefined) =>
		said && agent === "other" ? hashBytes(said).slice(0, HASH_DIGITS) : said;
	const header = (name: string) => {
		const value = headers[name];
		return kept(nameOf(typeof value === "string" ? value : value?.[0]));
	};
	const session =
		header("x-claude-code-session-id") ??
		header("session-id") ??
		header("session_id") ??
		header("thread-id") ??
		header("x-session-id") ??
		kept(sessionIn(metadata));
	// A sub-agent of opencode has a session of its own, one of Codex a thread in its parent's session.
	const [parentSession, parentThread] = [
		header("x-parent-session-id"),
		header("x-codex-parent-thread-id"),
	];
	const subagent =
		header("x-claude-code-agent-id") ??
		(parentSession && session) ??
		(parentThread && header("thread-id"));
	const parent = header("x-claude-code-parent-agent-id") ?? parentSession ?? parentThread;
	return {
		agent,
		...(known.version && { version: known.version }),
		...(session && { session }),
		...(subagent && { subagent }),
		...(parent && { parent }),
	};
}

const HASH_DIGITS = 16;
const MAX_VERSION = 40;

function agentOf(userAgent: string): { agent: Agent; version?: string } {
	for (const { agent, userAgent: pattern } of AGENTS) {
		const found = pattern.exec(userAgent);
		if (found) return { agent, version: found[1]?.slice(0, MAX_VERSION) ?? "" };
	}
	return { agent: "other" };
}

/** Claude Code puts JSON with its session into `metadata.user_id`. Other fields of it are private. */
function sessionIn(metadata: unknown): string | undefined {
	const text = property(metadata, "user_id");
	if (typeof text !== "string") return undefined;
	try {
		return nameOf(property(JSON.parse(text), "session_id"));
	} catch {
		return undefined; // another client's own id
	}
}
