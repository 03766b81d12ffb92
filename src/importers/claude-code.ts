import { getOrAdd } from "../core/get-or-add.ts";
import { isRecord, property } from "../core/property.ts";
import { nameOr } from "../economy/replay/index.ts";
import { EntryWriter } from "./claude-code-entries.ts";
import { type Line, LineReader } from "./claude-code-lines.ts";
import { RequestLog } from "./claude-code-requests.ts";
import { MAX_ID_LENGTH, timeOf } from "./fields.ts";
import type {
	Detail,
	LineOutcome,
	ParsedSession,
	SessionFormat,
	SessionParser,
} from "./session-format.ts";

/** Transcripts of Claude Code. Newer versions also record their requests, with system prompt and tools. */
export const claudeCode: SessionFormat = {
	agent: "claude-code",
	recognizes: (line) =>
		typeof property(line, "uuid") === "string" &&
		typeof property(line, "sessionId") === "string" &&
		property(line, "parentUuid") !== undefined,
	parser: (_line, _file, detail) => new ClaudeParser(detail),
};

/** The main conversation, or one sub-agent. Each has a prompt cache of its own. */
interface Thread {
	readonly lines: Line[];
	readonly reader: LineReader;
	readonly log: RequestLog;
}

class ClaudeParser implements SessionParser {
	entryCount = 0;
	blockCount = 0;
	readonly #threads = new Map<string, Thread>();
	/** The thread of every line, by its uuid. */
	readonly #threadOf = new Map<string, string>();
	#session: string | undefined;
	#cwd: string | undefined;
	#version: string | undefined;
	#lastMs = 0;
	readonly #detail: Detail;

	constructor(detail: Detail) {
		this.#detail = detail;
	}

	add(line: unknown): LineOutcome {
		if (!isRecord(line)) return "damaged";
		try {
			return line.uuid === undefined ? this.#addRecord(line) : this.#addLine(line);
		} catch (error) {
			if (error instanceof RangeError) return "damaged"; // nested too deeply to be hashed
			throw error;
		}
	}

	skip(): void {} // the line's children find no parent and follow the line above

	end(): readonly ParsedSession[] {
		const about = {
			...(this.#session && { session: this.#session }),
			...(this.#cwd && { cwd: this.#cwd }),
			...(this.#version && { version: this.#version }),
		};
		const threads = [...this.#threads].filter(([, { lines }]) => lines.length > 0);
		return threads.map(([key, { lines, reader, log }]) => ({
			entries: new EntryWriter(lines, reader.answers.values(), log).write(),
			...(key !== MAIN && { subagent: key }),
			...about,
		}));
	}

	/** A line outside the conversation: the record of a request, or one that only the program needs. */
	#addRecord(line: unknown): LineOutcome {
		if (!String(property(line, "type")).startsWith("api-request")) return "ignored";
		const { log } = this.#thread(nameOr(property(line, "agentId"), MAIN));
		const before = log.size;
		const outcome = log.add(line);
		this.blockCount += log.size - before;
		return outcome;
	}

	#addLine(line: unknown): LineOutcome {
		const uuid = property(line, "uuid");
		if (typeof uuid !== "string") return "ignored";
		if (uuid.length > MAX_ID_LENGTH) return "damaged";
		if (this.#threadOf.has(uuid)) return "ignored"; // written twice
		const given = property(line, "parentUuid") ?? property(line, "logicalParentUuid") ?? null;
		const parent = typeof given === "string" && given.length <= MAX_ID_LENGTH ? given : null;
		const key = this.#threadKey(line, uuid, parent);
		const { lines, reader, log } = this.#thread(key);
		this.#lastMs = timeOf(property(line, "timestamp")) ?? this.#lastMs;
		const content = reader.read(line);
		log.note(line, content);
		this.#noteSession(line);
		this.#threadOf.set(uuid, key);
		lines.push({ uuid, parent, atMs: this.#lastMs, content });
		this.entryCount++;
		this.blockCount += blocksIn(content);
		const isKnown = parent === null || this.#threadOf.has(parent);
		return isKnown ? "added" : "relinked";
	}

	/** Older versions give a sub-agent's lines no id: its first line then names it. */
	#threadKey(line: unknown, uuid: string, parent: string | null): string {
		if (property(line, "isSidechain") !== true) return MAIN;
		const agent = property(line, "agentId");
		if (typeof agent === "string" && agent !== "") return nameOr(agent, "");
		const before = parent === null ? undefined : this.#threadOf.get(parent);
		return before === undefined || before === MAIN ? uuid : before;
	}

	#thread(key: string): Thread {
		return getOrAdd(this.#threads, key, () => {
			const reader = new LineReader(this.#detail);
			return { lines: [], reader, log: new RequestLog(reader) };
		});
	}

	#noteSession(line: unknown): void {
		this.#session ??= nameOr(property(line, "sessionId"), "") || undefined;
		this.#cwd ??= nameOr(property(line, "cwd"), "") || undefined;
		this.#version ??= nameOr(property(line, "version"), "") || undefined;
	}
}

const MAIN = "";

function blocksIn(content: Line["content"]): number {
	if (content.kind === "sent" || content.kind === "summary") return content.blocks.length;
	if (content.kind === "results") return content.results.length + content.beside.length;
	return 1;
}
