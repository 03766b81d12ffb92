import type { CommandFields, Data } from "../../protocol/index.ts";

export type ProgressReport = CommandFields<"report_progress">;

interface TerminalProgressOptions {
	emit(event: Data<"SessionEvent">): void;
	/** Whether the session file has the answer with this time. */
	isWritten(timestamp: number): boolean;
	/** The arguments of a call in the session file. */
	argsOf(toolCallId: string): unknown;
}

/** A running pi reports every few seconds. Without a report for so long, it has ended or lost the connection. */
const SILENCE_MS = 20_000;

type Kind = "text" | "thinking" | "toolCall";
const STEPS = { text: "text", thinking: "thinking", toolCall: "toolcall" } as const;

interface InFlight {
	readonly timestamp: number;
	/** What was sent as events of each block. */
	readonly blocks: { readonly kind: Kind; length: number }[];
}

/**
 * The run of a pi in a terminal, as it reports it, in events. Each report says where its text begins, so a lost or
 * repeated one does no harm. The session file stays the only source of what is final.
 */
export class TerminalProgress {
	readonly #options: TerminalProgressOptions;
	readonly #calls = new Map<string, string | undefined>();
	#inFlight: InFlight | undefined;
	#timer: NodeJS.Timeout | undefined;
	isRunning = false;

	constructor(options: TerminalProgressOptions) {
		this.#options = options;
	}

	/** Returns how many characters are known of each block of the reported message. */
	take({ isRunning, message, calls = [] }: ProgressReport): number[] {
		clearTimeout(this.#timer);
		if (!isRunning) {
			this.settle();
			return [];
		}
		this.#timer = setTimeout(() => this.settle(), SILENCE_MS).unref();
		if (!this.isRunning) this.#options.emit({ type: "agent_start" });
		this.isRunning = true;
		const known = message ? this.#takeMessage(message) : [];
		this.#takeCalls(calls);
		return known;
	}

	/** The session file has the answer. Returns whether its start was sent. */
	end(timestamp: unknown): boolean {
		const isStarted = this.#inFlight !== undefined && this.#inFlight.timestamp === timestamp;
		if (isStarted) this.#inFlight = undefined;
		return isStarted;
	}

	/** Clients load the session again, so the next report starts the answer from its beginning. */
	restart(): void {
		this.#inFlight = undefined;
		this.#calls.clear();
	}

	/** Ends the run. An answer that never came to the file stays in view as it is, unfinished. */
	settle(): void {
		this.close();
		this.restart();
		if (this.isRunning) this.#options.emit({ type: "agent_settled" });
		this.isRunning = false;
	}

	close(): void {
		clearTimeout(this.#timer);
	}

	#takeMessage({ timestamp, model, blocks }: Data<"ReportedMessage">): number[] {
		if (this.#options.isWritten(timestamp)) {
			return blocks.map(({ from, text }) => from + text.length);
		}
		if (this.#inFlight?.timestamp !== timestamp) {
			this.#inFlight = { timestamp, blocks: [] };
			const start = { role: "assistant", content: [], timestamp, ...(model && { model }) };
			this.#options.emit({ type: "message_start", message: start as Data<"AgentMessage"> });
		}
		const known = this.#inFlight.blocks;
		for (const block of blocks) this.#takeBlock(known, block);
		return known.map(({ length }) => length);
	}

	#takeBlock(
		known: InFlight["blocks"],
		{ index, kind, from, text, id = "", toolName = "" }: Data<"ReportedMessage">["blocks"][number],
	): void {
		if (index > known.length) return; // one before it was lost: the answer to this report names what is known
		const step = (event: object) =>
			this.#options.emit({ type: "message_update", assistantMessageEvent: event as never });
		if (index === known.length) {
			const before = known.at(-1);
			if (before) step({ type: `${STEPS[before.kind]}_end`, contentIndex: index - 1 });
			const call = kind === "toolCall" && { id, toolName };
			step({ type: `${STEPS[kind]}_start`, contentIndex: index, ...call });
			known.push({ kind, length: 0 });
		}
		const block = known[index];
		if (!block || block.kind !== kind || from > block.length) return;
		const delta = text.slice(block.length - from);
		if (delta === "") return;
		block.length += delta.length;
		step({ type: `${STEPS[kind]}_delta`, contentIndex: index, delta });
	}

	#takeCalls(calls: readonly Data<"ReportedCall">[]): void {
		for (const { toolCallId, toolName, output } of calls) {
			const about = { toolCallId, toolName, args: this.#options.argsOf(toolCallId) ?? {} };
			if (!this.#calls.has(toolCallId)) {
				this.#options.emit({ type: "tool_execution_start", ...about, atMs: Date.now() });
			}
			if (output !== undefined && output !== this.#calls.get(toolCallId)) {
				const partialResult = { content: [{ type: "text", text: output }] };
				this.#options.emit({ type: "tool_execution_update", ...about, partialResult });
			}
			this.#calls.set(toolCallId, output);
		}
		// The result is in the session file, and is sent from there.
		const running = new Set(calls.map(({ toolCallId }) => toolCallId));
		for (const known of this.#calls.keys()) if (!running.has(known)) this.#calls.delete(known);
	}
}
