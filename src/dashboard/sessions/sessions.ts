import { signal } from "@preact/signals";
import type { Client } from "../../protocol/client.ts";
import type { Data, ResponseData } from "../../protocol/index.ts";
import { textOf } from "../parts/figures.ts";

/** The open sessions, kept up to date. */
export type SessionList = ReturnType<typeof followSessions>;

export type StartsIn = ResponseData["list_sessions"]["startsIn"];

interface SessionListOptions {
	client: Client;
	onServerEvent(listener: (event: Data<"ServerEvent">) => void): () => void;
}

const EVERY_MS = 4_000;
/** Sessions whose costs are fetched, again after new messages. */
const MOST_COSTS = 40;

export function followSessions({ client, onServerEvent }: SessionListOptions) {
	/** The newest first; undefined until they are known. */
	const sessions = signal<readonly Data<"SessionInfo">[] | undefined>(undefined);
	/** In dollars, as far as they are known. */
	const costs = signal<ReadonlyMap<string, number>>(new Map());
	/** The first message of sessions without a name, as far as it is known. */
	const beginnings = signal<ReadonlyMap<string, string>>(new Map());
	/** Undefined where a new session must name its folder. */
	const startsIn = signal<StartsIn>(undefined);
	const error = signal<string | undefined>(undefined);
	/** Messages of a session when its cost was fetched. */
	const asked = new Map<string, number>();
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
	const timer = setInterval(refresh, EVERY_MS);
	refresh();

	return { sessions, costs, beginnings, startsIn, error, refresh, close };

	function close(): void {
		isClosed = true;
		clearInterval(timer);
		for (const stop of stops) stop();
	}

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

	/** Sessions of one folder look alike without a name. Files are searched once for each. */
	async function askBeginnings(list: readonly Data<"SessionInfo">[]): Promise<void> {
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

	/** One at a time: asking a session that sleeps wakes it. */
	async function askCosts(list: readonly Data<"SessionInfo">[]): Promise<void> {
		for (const { sessionId, messageCount } of list.slice(0, MOST_COSTS)) {
			if (isClosed) return;
			if (messageCount === 0 || asked.get(sessionId) === messageCount) continue;
			asked.set(sessionId, messageCount);
			try {
				const { data } = await client.request("get_session_stats", { sessionId });
				if (!isClosed) costs.value = new Map(costs.value).set(sessionId, data.cost);
			} catch {
				// A session whose folder is gone has no figures.
			}
		}
	}
}
