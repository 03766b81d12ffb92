import { type ReadonlySignal, signal } from "@preact/signals";
import type { Client, StreamFrame, Subscription } from "../../protocol/client.ts";
import type { ServerEvent, SessionEvent, SessionState } from "../../protocol/index.ts";
import { createAsking } from "../asking.ts";
import { textOf } from "../error-text.ts";
import { type CommandList, createCommandList } from "./commands.ts";
import {
	afterEvent,
	bashEnded,
	bashStarted,
	type Conversation,
	EMPTY,
	keepingShown,
	loaded,
	withoutEndedShell,
} from "./conversation.ts";
import { type ExtensionUi, NO_UI, uiAfter } from "./extension-ui.ts";
import { repeatsReport } from "./message-items.ts";
import type { ShellCommand } from "./outbox.ts";

/** A session that this page shows: what the server has of it, kept up to date. */
export interface OpenSession {
	readonly sessionId: string;
	readonly conversation: ReadonlySignal<Conversation>;
	/** Its settings and what it is doing; undefined until they are known. */
	readonly state: ReadonlySignal<SessionState | undefined>;
	readonly ui: ReadonlySignal<ExtensionUi>;
	readonly commandList: CommandList;
	readonly status: ReadonlySignal<OpenStatus>;
	/** Grows, no more than a few times a second, when figures of the session may have changed. */
	readonly changes: ReadonlySignal<number>;
	/** Loads everything once more. */
	reload(): void;
	close(): void;
}

/** What a view of a session is given. */
export type SessionViewProps = Pick<OpenSession, "sessionId" | "changes">;

/** How far the page is with a session. */
export type OpenStatus =
	| { name: "loading" }
	| { name: "ready" }
	| { name: "gone" }
	| { name: "failed"; why: string };

export interface OpenSessionOptions {
	client: Client;
	onServerEvent(listener: (event: ServerEvent) => void): () => void;
	/** Tells the page something that happens once: notices, and text for the prompt box. */
	onMoment(event: SessionEvent): void;
	/** The shell commands of this page that run: their output comes under their ids. Default: none. */
	shell?: ReadonlySignal<readonly ShellCommand[]>;
	/** Calls back soon, before the next picture is drawn; returns how to prevent it. */
	soon(work: () => void): () => void;
}

/** So many events back an answer that is being written should have begun. */
const LOOK_BACK = 4_000;
const LOOK_BACK_PAUSE_MS = 50;
const CHANGES_PAUSE_MS = 400;

/** Commands of any client after which settings differ, and after which the conversation does. */
const SETTING = /^(set_|cycle_)/;
const REWRITING: ReadonlySet<string> = new Set(["navigate_tree", "bash"]);

/** Opens a session of the server on this page. It stays in step by itself until it is closed. */
export function openSession(sessionId: string, options: OpenSessionOptions): OpenSession {
	const { client, onServerEvent, onMoment, soon, shell = signal([]) } = options;
	const conversation = signal<Conversation>(EMPTY);
	const state = signal<SessionState | undefined>(undefined);
	const ui = signal<ExtensionUi>(NO_UI);
	const commandList = createCommandList(async () => {
		const { data } = await client.request("get_commands", { sessionId });
		return data.commands;
	});
	const status = signal<OpenStatus>({ name: "loading" });
	const changes = signal(0);
	const asking = createAsking({
		ask: (signal) => client.request("get_state", { sessionId }, { signal }),
		onAnswer({ data }) {
			state.value = data;
		},
		onError() {}, // the next event, or the next connection, asks again
	});
	/** Events that are not shown yet: they are taken together, once a picture. */
	let waiting: SessionEvent[] = [];
	/** What happened last. */
	let latest: SessionEvent | undefined;
	let cancelSoon: (() => void) | undefined;
	/** Events since a load began: what it brings may be older than they are. */
	let sinceLoad: SessionEvent[] | undefined;
	let loads = 0;
	let changesTimer: ReturnType<typeof setTimeout> | undefined;
	let lookBackTimer: ReturnType<typeof setTimeout> | undefined;
	let isClosed = false;
	let subscription = listen();
	/** Events up to here happened before this page came: they complete the conversation, nothing else. */
	let oldUntil = 0;

	let shown: readonly ShellCommand[] = [];
	const stops = [
		shell.subscribe((running) => {
			const hasEnded = shown.some(
				({ id, result }) => !result && !running.some((one) => one.id === id && !one.result),
			);
			shown = running;
			// Before the first load, a command of the file would be taken for one that runs.
			if (status.peek().name === "ready") conversation.value = withShell(conversation.peek());
			if (hasEnded) void load();
		}),
		onServerEvent(onEvent),
		client.onState(({ name }) => {
			// The run may have ended with the server, and another one may know other commands.
			if (name === "open") loadAnew();
		}),
	];
	if (client.state.name === "open") void load();

	return {
		sessionId,
		conversation,
		state,
		ui,
		commandList,
		status,
		changes,
		reload: () => void load(),
		close() {
			isClosed = true;
			asking.stop();
			for (const stop of stops) stop();
			subscription.close();
			cancelSoon?.();
			clearTimeout(changesTimer);
			clearTimeout(lookBackTimer);
		},
	};

	function listen(from?: number): Subscription {
		return client.subscribe(sessionId, onFrame, {
			...(from !== undefined && { after: from }),
			onEnd(error) {
				if (isClosed) return;
				const isGone = !error || error.code === "unknown_session";
				status.value = isGone ? { name: "gone" } : { name: "failed", why: error.message };
			},
		});
	}

	function onFrame(frame: StreamFrame): void {
		if (frame.type !== "event") {
			loadAnew();
			return;
		}
		const { event, seq } = frame;
		waiting.push(event);
		sinceLoad?.push(event);
		cancelSoon ??= soon(show);
		if (seq !== undefined && seq <= oldUntil) return;
		ui.value = uiAfter(ui.value, event);
		if (event.type === "extension_ui_request" && !repeatsReport(event, latest)) onMoment(event);
		latest = event;
		if (event.type === "session_replaced") {
			conversation.value = withoutEndedShell(conversation.value);
			loadAnew();
		}
		if (CHANGING.has(event.type)) countChange();
		if (SETTLING.has(event.type)) asking.again();
		// Another client's command: nothing else says that one runs.
		if (event.type === "bash_execution_update" && !isKnownShell(event.id)) asking.again();
	}

	function show(): void {
		cancelSoon = undefined;
		const events = waiting;
		waiting = [];
		conversation.value = events.reduce(afterEvent, conversation.value);
	}

	function onEvent(event: ServerEvent): void {
		if (event.type !== "command_finished" || event.data.sessionId !== sessionId) return;
		const { commandType, success } = event.data;
		// A shell command that took too long has failed, and does not run any more.
		if (!success && commandType !== "bash") return;
		if (SETTING.test(commandType)) asking.again();
		if (REWRITING.has(commandType)) void load();
	}

	/** What this page knows may belong to another session, to other extensions or to another server. */
	function loadAnew(): void {
		commandList.outdate();
		void load();
	}

	/** Loads all of it. A load that a later one has overtaken is dropped. */
	async function load(): Promise<void> {
		const mine = ++loads;
		const buffer: SessionEvent[] = [];
		sinceLoad = buffer;
		try {
			const [entries, now] = await Promise.all([
				client.request("get_entries", { sessionId }),
				client.request("get_state", { sessionId }),
			]);
			if (mine !== loads || isClosed) return;
			sinceLoad = undefined;
			state.value = now.data;
			const isFirst = status.value.name !== "ready";
			waiting = [];
			const fresh = withShell(keepingShown(loaded(entries.data, now.data), conversation.value));
			conversation.value = buffer.reduce(afterEvent, fresh);
			status.value = { name: "ready" };
			countChange();
			if (isFirst && now.data.isStreaming) lookBack();
		} catch (error) {
			if (mine !== loads || isClosed) return;
			sinceLoad = undefined;
			const why = textOf(error);
			const isGone = (error as { code?: string }).code === "unknown_session";
			status.value = isGone ? { name: "gone" } : { name: "failed", why };
		}
	}

	/** The answer that is being written has begun before this page came: its beginning is in the stream's past. */
	function lookBack(): void {
		const { seq } = subscription;
		if (seq === undefined) {
			// The server has not said yet where the stream is.
			lookBackTimer = setTimeout(lookBack, LOOK_BACK_PAUSE_MS);
			return;
		}
		oldUntil = seq;
		const before = subscription;
		subscription = listen(Math.max(0, seq - LOOK_BACK));
		before.close();
	}

	function withShell(before: Conversation): Conversation {
		return shell.peek().reduce((next, { id, command, result }) => {
			return result ? bashEnded(next, id, result) : bashStarted(next, id, command);
		}, before);
	}

	/** Output of a command that the page knows to be running. */
	function isKnownShell(id: string | undefined): boolean {
		return state.peek()?.isBashRunning === true || shell.peek().some((one) => one.id === id);
	}

	function countChange(): void {
		changesTimer ??= setTimeout(() => {
			changesTimer = undefined;
			changes.value++;
		}, CHANGES_PAUSE_MS);
	}
}

/** After these, what the model sees and what it costs may be different. */
const CHANGING: ReadonlySet<string> = new Set([
	"message_end",
	"turn_end",
	"agent_settled",
	"compaction_end",
	"entry_appended",
	"session_replaced",
]);

/** After these, settings and counts may be different. */
const SETTLING: ReadonlySet<string> = new Set([
	"agent_start",
	"agent_settled",
	"compaction_end",
	"session_info_changed",
	"thinking_level_changed",
]);
