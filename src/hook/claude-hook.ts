import { setTimeout as delay } from "node:timers/promises";
import { loadConfig } from "../core/config.ts";
import { agentFolder, projectRoot } from "../core/places.ts";
import {
	type ClaudeAnswer,
	type ClaudeEvent,
	claudeAnswer,
	parseClaudeEvent,
} from "./claude-code.ts";
import type { InView } from "./in-view.ts";
import { Shortener, type TouchesExcluded } from "./shortener.ts";
import { TranscriptFile } from "./transcript-file.ts";

export interface HookOptions {
	readonly env: NodeJS.ProcessEnv;
	readonly touchesExcluded: TouchesExcluded;
	/** Counts only. */
	readonly isShadow: boolean;
	/** For all transcripts in memory; the one that was used last stays. Default: 64 MiB. */
	readonly maxBytes?: number;
}

interface Conversation {
	readonly file: TranscriptFile;
	shortener: Shortener | undefined;
	/** Events of one conversation are handled one after the other. */
	last: Promise<unknown>;
}

/** A session may run several sub-agents at once, each with a transcript of its own. */
const MAX_CONVERSATIONS = 16;
const MAX_BYTES = 64 * 1024 * 1024;

/** Claude Code may still be writing the line of the call. */
const WAITS_MS = [10, 20, 40];

/** Handles `PostToolUse` events of Claude Code. What it knows of a conversation grows with its transcript. */
export class ClaudeHook {
	readonly #options: HookOptions;
	readonly #conversations = new Map<string, Conversation>();

	constructor(options: HookOptions) {
		this.#options = options;
	}

	/** In doubt, the result stays as it is. Never rejects. */
	async handle(
		value: unknown,
	): Promise<ClaudeAnswer & { readonly sessionId?: string; readonly id?: string }> {
		const event = parseClaudeEvent(value);
		if (typeof event === "string") return { output: "", savedTokens: 0, why: event };
		const conversation = this.#conversation(event.transcript, event.agentId);
		const answer = conversation.last.then(() => this.#answer(event, conversation));
		conversation.last = answer.catch(() => this.#conversations.delete(event.transcript));
		try {
			return { ...(await answer), sessionId: event.sessionId, id: event.result.id };
		} catch (error) {
			return { output: "", savedTokens: 0, why: String(error) };
		} finally {
			this.#evict();
		}
	}

	async #answer(event: ClaudeEvent, conversation: Conversation): Promise<ClaudeAnswer> {
		const view = await viewOf(event, conversation.file);
		if (!view) return stays("what the model sees is not known");
		const { thread } = conversation.file;
		if (!thread.confirms(event.tool, event.form) && !this.#isConfirmedBySession(event)) {
			return stays(`how ${event.tool} shows its results is not confirmed`);
		}
		conversation.shortener ??= this.#shortener(thread.cwd ?? event.cwd);
		const outcome = await conversation.shortener.shorten(event.result, view, event.cwd);
		return claudeAnswer(event, outcome);
	}

	/** The session's own transcript says more about tools than that of a sub-agent. */
	#isConfirmedBySession({ agentId, mainTranscript, tool, form }: ClaudeEvent): boolean {
		if (agentId === undefined) return false;
		const { file } = this.#conversation(mainTranscript);
		file.refresh();
		return file.thread.confirms(tool, form);
	}

	#shortener(cwd: string): Shortener {
		const { env, touchesExcluded, isShadow } = this.#options;
		const { config } = loadConfig({ agentDir: agentFolder(env), cwd });
		return new Shortener({ config, root: projectRoot(cwd), env, touchesExcluded, isShadow });
	}

	#conversation(transcript: string, agentId?: string): Conversation {
		const known = this.#conversations.get(transcript);
		const file = () => new TranscriptFile(transcript, agentId);
		const one = known ?? { file: file(), shortener: undefined, last: Promise.resolve() };
		// The one that was used last is the last to be evicted.
		this.#conversations.delete(transcript);
		this.#conversations.set(transcript, one);
		return one;
	}

	#evict(): void {
		const all = this.#conversations;
		const { maxBytes = MAX_BYTES } = this.#options;
		let bytes = [...all.values()].reduce((sum, { file }) => sum + file.bytes, 0);
		for (const [oldest, { file }] of all) {
			if (all.size === 1 || (all.size <= MAX_CONVERSATIONS && bytes <= maxBytes)) return;
			all.delete(oldest);
			bytes -= file.bytes;
		}
	}
}

async function viewOf({ result }: ClaudeEvent, file: TranscriptFile): Promise<InView | undefined> {
	file.refresh();
	for (const ms of WAITS_MS) {
		const view = file.thread.viewOf(result.id);
		if (view || !file.thread.isRecorded) return view;
		await delay(ms);
		file.refresh();
	}
	return file.thread.viewOf(result.id);
}

function stays(why: string): ClaudeAnswer {
	return { output: "", savedTokens: 0, why };
}
