import { type ReadonlySignal, signal } from "@preact/signals";
import type { Client, StreamFrame, Subscription } from "../../protocol/client.ts";
import type { Data } from "../../protocol/index.ts";
import { createAsking } from "../asking.ts";
import { textOf } from "../parts/figures.ts";
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

export type OpenSession = ReturnType<typeof openSession>;

export type SessionViewProps = Pick<OpenSession, "sessionId" | "changes">;

type OpenStatus = { name: "loading" | "ready" | "gone" } | { name: "failed"; why: string };

interface OpenSessionOptions {
	client: Client;
	/** An event that happens once: a notice, or text for the prompt box. */
	onMoment(event: Data<"SessionEvent">): void;
	/** Shell commands of this page. Default: none. */
	shell?: ReadonlySignal<readonly ShellCommand[]>;
	/** Calls back before the next frame; returns how to cancel. */
	soon(work: () => void): () => void;
}

/** Events to go back to the beginning of a streaming answer. */
const LOOK_BACK = 4_000;
const LOOK_BACK_PAUSE_MS = 50;
const CHANGES_PAUSE_MS = 400;

/** Commands of any client that change settings, and those that change the conversation. */
const SETTING = /^(set_|cycle_)/;
const REWRITING = /^(navigate_tree|bash)$/;

/** A session that this page shows, kept up to date. */
export function openSession(sessionId: string, options: OpenSessionOptions) {
	const { client, onMoment, soon, shell = signal([]) } = options;
	const conversation = signal<Conversation>(EMPTY);
	const state = signal<Data<"SessionState"> | undefined>(undefined);
	const ui = signal<ExtensionUi>(NO_UI);
	const commandList = createCommandList(async () => {
		const { data } = await client.request("get_commands", { sessionId });
		return data.commands;
	});
	const status = signal<OpenStatus>({ name: "loading" });
	/** Grows, a few times a second at most, when figures of the session may have changed. */
	const changes = signal(0);
	const asking = createAsking({
		ask: (signal) => client.request("get_state", { sessionId }, { signal }),
		onAnswer({ data }) {
			state.value = data;
		},
		onError() {}, // the next event, or the next connection, asks again
	});
	let waiting: Data<"SessionEvent">[] = [];
	let latest: Data<"SessionEvent"> | undefined;
	let cancelSoon: (() => void) | undefined;
	/** Events since a load began: its answer may be older. */
	let sinceLoad: Data<"SessionEvent">[] | undefined;
	let loads = 0;
	let changesTimer: ReturnType<typeof setTimeout> | undefined;
	let lookBackTimer: ReturnType<typeof setTimeout> | undefined;
	let isClosed = false;
	let subscription = listen();
	/** Events up to here are from before this page came: they only complete the conversation. */
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
		client.onEvent(onEvent),
		client.onState(({ name }) => {
			// The server may be another one.
			if (name === "open") loadOther();
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
		close(): void {
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
				if (!isClosed) status.value = error ? afterError(error) : { name: "gone" };
			},
		});
	}

	function onFrame(frame: StreamFrame): void {
		if (frame.type !== "event") {
			loadOther();
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
			loadOther();
		}
		if (CHANGING.test(event.type)) countChange();
		if (SETTLING.test(event.type)) asking.again();
		// Nothing else reports a command of another client.
		if (event.type === "bash_execution_update" && !isKnownShell(event.id)) asking.again();
	}

	function show(): void {
		cancelSoon = undefined;
		const events = waiting;
		waiting = [];
		conversation.value = events.reduce(afterEvent, conversation.value);
	}

	function onEvent(event: Data<"ServerEvent">): void {
		if (event.type !== "command_finished" || event.data.sessionId !== sessionId) return;
		const { commandType, success } = event.data;
		// A shell command that timed out does not run any more.
		if (!success && commandType !== "bash") return;
		if (SETTING.test(commandType)) asking.again();
		if (REWRITING.test(commandType)) void load();
	}

	/** The session, its extensions or the server may be others. */
	function loadOther(): void {
		commandList.outdate();
		void load();
	}

	/** A load that was overtaken is dropped. */
	async function load(): Promise<void> {
		const mine = ++loads;
		const buffer: Data<"SessionEvent">[] = [];
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
			status.value = afterError(error);
		}
	}

	/** A streaming answer began before this page came: its beginning is in the stream's past. */
	function lookBack(): void {
		const { seq } = subscription;
		if (seq === undefined) {
			// The server has not reported the stream's position yet.
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

function afterError(error: unknown): OpenStatus {
	const isGone = (error as { code?: string }).code === "unknown_session";
	return isGone ? { name: "gone" } : { name: "failed", why: textOf(error) };
}

/** Events that may change what the model sees and what it costs. */
const CHANGING =
	/^(message_end|turn_end|agent_settled|compaction_end|entry_appended|session_replaced)$/;

/** Events that may change settings and counts. */
const SETTLING =
	/^(agent_start|agent_settled|compaction_end|session_info_changed|thinking_level_changed)$/;

/** The commands that `prompt` understands in a session, fetched on demand; undefined until they are known. */
export function createCommandList(ask: () => Promise<readonly Data<"SlashCommand">[]>) {
	const commands = signal<readonly Data<"SlashCommand">[] | undefined>(undefined);
	/** Up to date, or in flight and not outdated since. */
	let holds = false;
	const asking = createAsking({
		ask,
		onAnswer(answer) {
			commands.value = answer;
			want();
		},
		onError(_, isLast) {
			if (isLast) holds = false; // a prompt box without proposals is still a prompt box
		},
	});

	function want(): void {
		if (holds) return;
		holds = true;
		asking.again();
	}

	function outdate(): void {
		holds = false;
	}

	return { commands, want, outdate };
}
