import type { Entry } from "../economy/replay/index.ts";

export const AGENT_NAMES = ["pi", "claude-code", "codex", "opencode", "gemini-cli"] as const;
export type AgentName = (typeof AGENT_NAMES)[number];

/** How one agent writes its sessions: as JSON lines, or as documents with all lines. */
export interface SessionFormat {
	readonly agent: AgentName;
	/** Whether only this agent writes such a line or document. */
	recognizes(value: unknown): boolean;
	/** The lines of a document, if the agent writes documents. Another value is its only line. */
	lines?(document: unknown): Iterable<unknown>;
	/** `file` is for errors. Throws if the recognized line names an unknown version. */
	parser(recognized: unknown, file: string, detail: Detail): SessionParser;
}

/**
 * `bills`: contents are not hashed, so that a file is read faster. Bills and the causes of misses
 * are the same, since a block that is sent again keeps its id. Equal contents are not recognized.
 * `texts`: the texts of results are kept too, for `resultTextOf`: of pi, Claude Code and Codex.
 */
export type Detail = "contents" | "bills" | "texts";

/** `relinked`: the line names a parent that the file does not have. `ignored`: not in a request. */
export type LineOutcome = "added" | "ignored" | "relinked" | "damaged";

/** Parses the lines of one file, in order. Keeps hashes and sizes, no texts. */
export interface SessionParser {
	/** Bounds of memory: what was kept so far. */
	readonly entryCount: number;
	readonly blockCount: number;
	/** Takes every line of the file, also those before the recognized one. */
	add(line: unknown): LineOutcome;
	/** A line was too long to be read. */
	skip(): void;
	/** After the last line: the file's own session first, then its sub-agents. */
	end(): readonly ParsedSession[];
}

export interface ParsedSession {
	readonly entries: readonly Entry[];
	/** The thinking level before an entry states one; absent if unknown. */
	readonly thinking?: string;
	/** Set for a sub-agent: its id. */
	readonly subagent?: string;
	/** Of the file's format, or of the agent that wrote it. */
	readonly version?: number | string;
	/** The agent's own id of the session. */
	readonly session?: string;
	/** The project: the working folder of the session. */
	readonly cwd?: string;
}
