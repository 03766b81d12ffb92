import { type ReadonlySignal, signal } from "@preact/signals";
import type { Client, StreamFrame, Subscription } from "../../protocol/client.ts";
import type { Data } from "../../protocol/index.ts";
import { errorMessage } from "../parts/figures.ts";
import { createRefresher } from "../refresher.ts";
import {
	applyEvent,
	bashEnded,
	bashStarted,
	type Conversation,
	carryOver,
	conversationOf,
	EMPTY,
	withoutEndedShell,
} from "./conversation.ts";
import { applyUiEvent, type ExtensionUi, NO_UI } from "./extension-ui.ts";
import { repeatsReport } from "./message-items.ts";
import type { ShellCommand } from "./outbox.ts";

export type SessionViewProps = Pick<
	OpenSession,
	"sessionId" | "changes" | "conversation" | "state"
>;

type OpenStatus = { name: "loading" | "ready" | "gone" } | { name: "failed"; why: string };

interface OpenSessionOptions {
	readonly client: Client;
	/** Called for an extension's live request: a notice, a question, or text for the prompt box. */
	onUiRequest(event: Data<"SessionEvent">): void;
	/** Whether the reader sees the conversation, and so the reports in it. Default: yes. */
	isConversationShown?(): boolean;
	/** Shell commands of this page. Default: none. */
	readonly shell?: ReadonlySignal<readonly ShellCommand[]>;
	/** Calls `work` before the next frame. Returns a function that cancels the call. */
	onNextFrame(work: () => void): () => void;
}

/** Maximum number of stored events to catch up on, to show the beginning of a streaming answer. */
const CATCH_UP_EVENTS = 4_000;
const CATCH_UP_RETRY_MS = 50;
const CHANGES_PAUSE_MS = 400;

/** Types of commands, from any client: `SETTING` change settings, `REWRITING` change the conversation. */
const SETTING = /^(set_|cycle_)/;
const REWRITING = /^(navigate_tree|bash)$/;

/** A session that this page shows, kept up to date until `close`. */
export class OpenSession {
	readonly sessionId: string;
	readonly conversation = signal<Conversation>(EMPTY);
	readonly state = signal<Data<"SessionState"> | undefined>(undefined);
	readonly ui = signal<ExtensionUi>(NO_UI);
	readonly commandList = createCommandList(async () => {
		const { data } = await this.#client.request("get_commands", { sessionId: this.sessionId });
		return data.commands;
	});
	readonly status = signal<OpenStatus>({ name: "loading" });
	/** Incremented when figures of the session may have changed, at most every `CHANGES_PAUSE_MS`. */
	readonly changes = signal(0);
	readonly #options: OpenSessionOptions;
	readonly #client: Client;
	readonly #shell: ReadonlySignal<readonly ShellCommand[]>;
	readonly #stateRefresher = createRefresher({
		fetch: (signal) => this.#askState({ signal }),
		onAnswer: (answer) => this.#showState(answer),
		onError() {}, // the next event, or the next connection, refreshes the state
	});
	readonly #unsubscribes: readonly (() => void)[];
	#subscription: Subscription;
	/** Events up to this number are caught up on. They complete the conversation and have no other effect. */
	#caughtUpSeq = 0;
	#pendingEvents: Data<"SessionEvent">[] = [];
	#latestEvent: Data<"SessionEvent"> | undefined;
	#cancelFrame: (() => void) | undefined;
	/** Events since a load began. They are applied to its answer, which may be older than they are. */
	#sinceLoad: Data<"SessionEvent">[] | undefined;
	/** Events do not say which results were replaced by stubs. The entries do. */
	#hasEdits = false;
	#loads = 0;
	/** Requests of the state are numbered: an answer never replaces that of a later request. */
	#stateRequests = 0;
	#shownState = 0;
	#changesTimer: ReturnType<typeof setTimeout> | undefined;
	#catchUpTimer: ReturnType<typeof setTimeout> | undefined;
	#shownShell: readonly ShellCommand[] = [];
	#isClosed = false;

	constructor(sessionId: string, options: OpenSessionOptions) {
		const { client, shell = signal([]) } = options;
		this.sessionId = sessionId;
		this.#options = options;
		this.#client = client;
		this.#shell = shell;
		this.#subscription = this.#subscribe();
		this.#unsubscribes = [
			shell.subscribe((running) => this.#onShell(running)),
			client.onEvent((event) => this.#onServerEvent(event)),
			client.onState(({ name }) => {
				if (name === "open") this.#loadOther();
			}),
		];
		if (client.state.name === "open") void this.reload();
	}

	/** For what no event tells. */
	refreshState(): void {
		if (this.#client.state.name === "open") this.#stateRefresher.refresh();
	}

	close(): void {
		this.#isClosed = true;
		this.#stateRefresher.stop();
		for (const unsubscribe of this.#unsubscribes) unsubscribe();
		this.#subscription.close();
		this.#cancelFrame?.();
		clearTimeout(this.#changesTimer);
		clearTimeout(this.#catchUpTimer);
	}

	#subscribe(after?: number): Subscription {
		return this.#client.subscribe(this.sessionId, (frame) => this.#onFrame(frame), {
			...(after !== undefined && { after }),
			onEnd: (error) => {
				if (!this.#isClosed) this.status.value = error ? afterError(error) : { name: "gone" };
			},
		});
	}

	#onFrame(frame: StreamFrame): void {
		if (frame.type !== "event") {
			this.#loadOther();
			return;
		}
		const { event, seq } = frame;
		this.#pendingEvents.push(event);
		this.#sinceLoad?.push(event);
		this.#cancelFrame ??= this.#options.onNextFrame(() => this.#showPending());
		if (seq !== undefined && seq <= this.#caughtUpSeq) return;
		this.ui.value = applyUiEvent(this.ui.value, event);
		const { isConversationShown = () => true, onUiRequest } = this.#options;
		const isRepeated = repeatsReport(event, this.#latestEvent) && isConversationShown();
		if (event.type === "extension_ui_request" && !isRepeated) onUiRequest(event);
		this.#latestEvent = event;
		if (event.type === "session_replaced") {
			this.conversation.value = withoutEndedShell(this.conversation.value);
			this.#loadOther();
		}
		if (event.type === "entry_appended" && event.entry.type === "context_edit") {
			this.#hasEdits = true;
		}
		if (event.type === "agent_settled" && this.#hasEdits) void this.reload();
		if (CHANGING.test(event.type)) this.#reportChange();
		// Only its output reveals that another client runs a shell command.
		const isUnknownShell =
			event.type === "bash_execution_update" &&
			!this.state.peek()?.isBashRunning &&
			!this.#shell.peek().some(({ id }) => id === event.id);
		if (SETTLING.test(event.type) || isUnknownShell) this.#stateRefresher.refresh();
	}

	#showPending(): void {
		this.#cancelFrame = undefined;
		const events = this.#pendingEvents;
		this.#pendingEvents = [];
		this.conversation.value = events.reduce(applyEvent, this.conversation.value);
	}

	#onServerEvent(event: Data<"ServerEvent">): void {
		if (event.type !== "command_finished" || event.data.sessionId !== this.sessionId) return;
		const { commandType, success } = event.data;
		// A failed `bash` counts too: a shell command that timed out is no longer running.
		if (!success && commandType !== "bash") return;
		if (SETTING.test(commandType)) this.#stateRefresher.refresh();
		if (REWRITING.test(commandType)) void this.reload();
	}

	#onShell(running: readonly ShellCommand[]): void {
		const hasEnded = this.#shownShell.some(
			({ id, result }) => !result && !running.some((one) => one.id === id && !one.result),
		);
		this.#shownShell = running;
		// Before the first load, a command that is already in the session file would be shown as running.
		if (this.status.peek().name === "ready") {
			this.conversation.value = this.#withShell(this.conversation.peek());
		}
		if (hasEnded) void this.reload();
	}

	/** Reloads everything, because the session, its extensions or the server may have been replaced. */
	#loadOther(): void {
		this.commandList.invalidate();
		void this.reload();
	}

	/** Loads the session. If a later load begins meanwhile, this load's answer is dropped. */
	async reload(): Promise<void> {
		const own = ++this.#loads;
		const { sessionId } = this;
		const buffer: Data<"SessionEvent">[] = [];
		this.#sinceLoad = buffer;
		this.#hasEdits = false;
		try {
			const [entries, now] = await Promise.all([
				this.#client.request("get_entries", { sessionId }),
				this.#askState(),
			]);
			if (own !== this.#loads || this.#isClosed) return;
			this.#sinceLoad = undefined;
			this.#showState(now);
			const isFirst = this.status.value.name !== "ready";
			this.#pendingEvents = [];
			const next = carryOver(conversationOf(entries.data, now.data), this.conversation.value);
			this.conversation.value = buffer.reduce(applyEvent, this.#withShell(next));
			this.status.value = { name: "ready" };
			this.#reportChange();
			if (isFirst && now.data.isStreaming) this.#catchUp();
		} catch (error) {
			if (own !== this.#loads || this.#isClosed) return;
			this.#sinceLoad = undefined;
			this.status.value = afterError(error);
		}
	}

	async #askState(options: { signal?: AbortSignal } = {}) {
		const number = ++this.#stateRequests;
		const { sessionId } = this;
		const { data } = await this.#client.request("get_state", { sessionId }, options);
		return { number, data };
	}

	#showState({ number, data }: { number: number; data: Data<"SessionState"> }): void {
		if (number < this.#shownState) return;
		this.#shownState = number;
		this.state.value = data;
	}

	/** Subscribes again from an earlier event, because a streaming answer began before this page was opened. */
	#catchUp(): void {
		const { seq } = this.#subscription;
		if (seq === undefined) {
			// The server has not reported the stream's position yet.
			this.#catchUpTimer = setTimeout(() => this.#catchUp(), CATCH_UP_RETRY_MS);
			return;
		}
		this.#caughtUpSeq = seq;
		const before = this.#subscription;
		this.#subscription = this.#subscribe(Math.max(0, seq - CATCH_UP_EVENTS));
		before.close();
	}

	#withShell(before: Conversation): Conversation {
		return this.#shell.peek().reduce((next, { id, command, result }) => {
			return result ? bashEnded(next, id, result) : bashStarted(next, id, command);
		}, before);
	}

	#reportChange(): void {
		this.#changesTimer ??= setTimeout(() => {
			this.#changesTimer = undefined;
			this.changes.value++;
		}, CHANGES_PAUSE_MS);
	}
}

function afterError(error: unknown): OpenStatus {
	const isGone = (error as { code?: string }).code === "unknown_session";
	return isGone ? { name: "gone" } : { name: "failed", why: errorMessage(error) };
}

/** Events that may change what the model sees and what it costs. */
const CHANGING =
	/^(message_end|turn_end|agent_settled|compaction_end|entry_appended|session_replaced)$/;

/** Events that may change settings and counts. */
const SETTLING =
	/^(agent_start|agent_settled|compaction_end|session_info_changed|thinking_level_changed)$/;

/** The slash commands that a session's `prompt` accepts, fetched on demand. Undefined until known. */
export function createCommandList(fetch: () => Promise<readonly Data<"SlashCommand">[]>) {
	const commands = signal<readonly Data<"SlashCommand">[] | undefined>(undefined);
	/** Whether the commands are up to date, or will be when the fetch in flight ends. */
	let isFresh = false;
	const refresher = createRefresher({
		fetch,
		onAnswer(answer) {
			commands.value = answer;
			ensure();
		},
		onError(_, isLast) {
			if (isLast) isFresh = false; // not reported: the prompt box works without proposals
		},
	});

	function ensure(): void {
		if (isFresh) return;
		isFresh = true;
		refresher.refresh();
	}

	function invalidate(): void {
		isFresh = false;
	}

	return { commands, ensure, invalidate };
}
