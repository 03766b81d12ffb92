import { type ReadonlySignal, signal } from "@preact/signals";
import type { Client } from "../../protocol/client.ts";
import type { ResponseData, ServerEvent, SessionInfo } from "../../protocol/index.ts";
import { textOf } from "../error-text.ts";

/** The open sessions, kept up to date while they are looked at. */
export interface SessionList {
	/** The newest first; undefined until they are known. */
	readonly sessions: ReadonlySignal<readonly SessionInfo[] | undefined>;
	/** What each has cost, in dollars, as far as it is known. */
	readonly costs: ReadonlySignal<ReadonlyMap<string, number>>;
	/** How sessions without a name began: the first words that were said, as far as they are known. */
	readonly beginnings: ReadonlySignal<ReadonlyMap<string, string>>;
	/** Where a session starts that names no folder; undefined where it must name one. */
	readonly startsIn: ReadonlySignal<StartsIn>;
	readonly error: ReadonlySignal<string | undefined>;
	refresh(): void;
	close(): void;
}

/** Where sessions start that name no folder. */
export type StartsIn = ResponseData["list_sessions"]["startsIn"];

export interface SessionListOptions {
	client: Client;
	onServerEvent(listener: (event: ServerEvent) => void): () => void;
	/** How often a list is asked for that may have changed silently. Default: 4 s. */
	everyMs?: number;
}

/** A cost is asked for again when its session has said something since. So many sessions at most. */
const MOST_COSTS = 40;

/** Follows the sessions of the server until it is closed. */
export function followSessions(options: SessionListOptions): SessionList {
	const { client, onServerEvent, everyMs = 4_000 } = options;
	const sessions = signal<readonly SessionInfo[] | undefined>(undefined);
	const costs = signal<ReadonlyMap<string, number>>(new Map());
	const beginnings = signal<ReadonlyMap<string, string>>(new Map());
	const startsIn = signal<StartsIn>(undefined);
	const error = signal<string | undefined>(undefined);
	/** How many messages a session had when its cost was asked for. */
	const asked = new Map<string, number>();
	/** Whose beginnings were asked for. */
	const sought = new Set<string>();
	let isAsking = false;
	let isClosed = false;

	const stops = [
		onServerEvent((event) => {
			if (event.type === "session_created" || event.type === "session_deleted") refresh();
		}),
		client.onState(({ name }) => {
			if (name === "open") refresh();
		}),
	];
	const timer = setInterval(refresh, everyMs);
	refresh();

	return {
		sessions,
		costs,
		beginnings,
		startsIn,
		error,
		refresh,
		close() {
			isClosed = true;
			clearInterval(timer);
			for (const stop of stops) stop();
		},
	};

	function refresh(): void {
		if (isAsking || client.state.name !== "open") return;
		isAsking = true;
		void ask().finally(() => {
			isAsking = false;
		});
	}

	async function ask(): Promise<void> {
		try {
			const { data } = await client.request("list_sessions");
			if (isClosed) return;
			startsIn.value = data.startsIn;
			sessions.value = data.sessions.toSorted((a, b) => b.createdAt.localeCompare(a.createdAt));
			error.value = undefined;
			await askBeginnings(sessions.value);
			await askCosts(sessions.value);
		} catch (problem) {
			if (!isClosed) error.value = textOf(problem);
		}
	}

	/** Sessions of one folder look alike without a name. Their files know more, and are looked through once for each. */
	async function askBeginnings(list: readonly SessionInfo[]): Promise<void> {
		const unknown = list.filter(
			({ sessionId, sessionName, messageCount }) =>
				!sessionName && messageCount > 0 && !sought.has(sessionId),
		);
		if (unknown.length === 0) return;
		for (const { sessionId } of unknown) sought.add(sessionId);
		try {
			const { data } = await client.request("list_stored_sessions", {});
			beginnings.value = new Map(
				data.sessions.flatMap(({ sessionId, firstMessage }) =>
					sessionId && firstMessage ? [[sessionId, firstMessage] as const] : [],
				),
			);
		} catch {
			// Names of folders have to do.
		}
	}

	/** One after the other: asking a session that sleeps wakes it. */
	async function askCosts(list: readonly SessionInfo[]): Promise<void> {
		for (const { sessionId, messageCount } of list.slice(0, MOST_COSTS)) {
			if (isClosed) return;
			if (messageCount === 0 || asked.get(sessionId) === messageCount) continue;
			asked.set(sessionId, messageCount);
			try {
				const { data } = await client.request("get_session_stats", { sessionId });
				if (!isClosed) costs.value = new Map(costs.value).set(sessionId, data.cost);
			} catch {
				// A session whose folder is gone has no figures; the list shows it without.
			}
		}
	}
}
