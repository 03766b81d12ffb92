import type { Later } from "../core/later.ts";
import { property } from "../core/property.ts";
import type { Command, CommandOf, Data, ResponseData } from "../protocol/index.ts";
import { type Call, CommandError, type Done, type Handler, type Handlers } from "./engine/call.ts";
import { type Client, Message } from "./engine/message.ts";
import { commandHistoryEntry, type Journal, type StreamName } from "./journal/journal.ts";
import { type Metrics, metricsData } from "./metrics.ts";
import type { MetricsHistory } from "./metrics-history.ts";
import type { SessionFinder } from "./replay/session-finder.ts";
import type { SessionReplay } from "./replay/session-replay.ts";
import type { Sessions } from "./sessions/sessions.ts";
import { isQuestion } from "./streams/stream.ts";
import type { Streams } from "./streams/streams.ts";
import type { ServerTraffic } from "./traffic/server-traffic.ts";
import type { ServerUsage } from "./usage/server-usage.ts";

interface ServerHandlersOptions {
	readonly sessions: Pick<Sessions, "count" | "readableFile"> & {
		handlers: Pick<Handlers, keyof Sessions["handlers"]>;
	};
	readonly streams: Pick<Streams, "unsubscribe" | "remove" | "seqAtStart">;
	readonly attachments: Pick<Attachments, "attach" | "checkedId" | "setEvents">;
	readonly journal: Pick<Journal, "commandHistory" | "recovered" | "health">;
	readonly replay: Pick<SessionReplay, "ofFile" | "ofContent">;
	readonly finder: Pick<SessionFinder, "list" | "fileOf">;
	readonly traffic: Pick<ServerTraffic, "handlers">;
	readonly usage: Pick<ServerUsage, "handlers">;
	readonly history: Pick<MetricsHistory, "read">;
	metrics(): Metrics;
	readonly now?: () => number;
}

const DEFAULT_HISTORY_LIMIT = 100;
const DEFAULT_FILES_LIMIT = 50;

export function createServerHandlers(options: ServerHandlersOptions): Handlers {
	const { sessions, replay, finder, traffic, usage } = options;
	return {
		...sessions.handlers,
		...traffic.handlers,
		...usage.handlers,
		...createSubscriptionHandlers(options),
		...createStatusHandlers(options),
		get_command_history: (call) => commandHistory(call, options.journal),
		async list_agent_sessions({ command, principal, signal }) {
			const { filter = "", after, limit = DEFAULT_FILES_LIMIT } = command;
			const query = { filter, limit, ...(after !== undefined && { after }) };
			return answer<"list_agent_sessions">(await finder.list(query, { principal, signal }));
		},
		async replay_session({ command, principal, signal }) {
			const { fileId, sessionPath, content } = command;
			const caller = { principal, signal };
			if ([fileId, sessionPath, content].filter((field) => field !== undefined).length !== 1) {
				const message = "Set one of fileId, sessionPath and content, and only one";
				throw new CommandError("invalid_command", message);
			}
			if (content !== undefined) return { data: await replay.ofContent(content, caller) };
			const file =
				fileId === undefined
					? await sessions.readableFile(principal, String(sessionPath))
					: await finder.fileOf(fileId, caller);
			return { data: await replay.ofFile(file, caller) };
		},
	};
}

/** Creating or loading a session subscribes the caller. Deleting a session removes its stream. */
function createSubscriptionHandlers({ sessions, streams, attachments }: ServerHandlersOptions) {
	const { handlers } = sessions;
	const { attach, checkedId, setEvents } = attachments;

	function subscribing<Type extends "create_session" | "load_session">(handler: Handler<Type>) {
		return async (call: Call<Type>): Promise<Done> => {
			const done = await handler(call);
			const sessionId = property(done.data, "sessionId");
			if (typeof sessionId !== "string") return done;
			// The client also gets events that occurred while the session was being opened.
			const stream = { principal: call.principal, sessionId };
			await attach(call, sessionId, done.opened ? streams.seqAtStart(stream) : undefined);
			return done;
		};
	}

	return {
		create_session: subscribing(handlers.create_session),
		load_session: subscribing(handlers.load_session),
		async delete_session(call) {
			const done = await handlers.delete_session(call);
			streams.remove({ principal: call.principal, sessionId: call.command.sessionId });
			return done;
		},
		async subscribe(call) {
			const { sessionId, after, traffic } = call.command;
			const id = sessionId === undefined ? undefined : checkedId(call, sessionId);
			const areSet = setEvents(call.client, call.command);
			const seq = id === undefined ? undefined : await attach(call, id, after);
			await areSet;
			return answer<"subscribe">({
				...(seq !== undefined && { seq }),
				lifecycle: call.client.lifecycle,
				...(traffic !== undefined && { traffic }),
			});
		},
		async switch_session(call) {
			const { principal, client, signal } = call;
			const sessionId = checkedId(call, call.command.sessionId);
			const command = { type: "get_state" as const, sessionId };
			const state = await handlers.get_state({ principal, client, signal, command });
			const seq = await attach(call, sessionId);
			return { data: { sessionInfo: state.data, seq } };
		},
		async unsubscribe(call) {
			const { principal, client, command } = call;
			streams.unsubscribe(client, { principal, sessionId: checkedId(call, command.sessionId) });
			return answer<"unsubscribe">({});
		},
	} satisfies Partial<Handlers>;
}

function createStatusHandlers(options: ServerHandlersOptions) {
	const { sessions, journal, metrics, history, now = Date.now } = options;
	const startedAtMs = now();
	return {
		get_metrics: async () => answer<"get_metrics">(metricsData(metrics())),
		get_metrics_history: async ({ command }) =>
			answer<"get_metrics_history">(history.read(command.minutes)),
		async health_check() {
			const health = journal.health();
			return answer<"health_check">({
				status: health.ok ? "ok" : "degraded",
				problems: health.ok ? [] : [health.why],
				uptimeMs: metricsData(metrics()).uptimeMs,
				sessions: sessions.count(),
			});
		},
		async get_startup_recovery({ principal }) {
			const isOwn = (item: { principal: string }) => item.principal === principal;
			const { recovered } = journal;
			return answer<"get_startup_recovery">({
				startedAtMs,
				crashed: recovered.crashed,
				sessions: recovered.sessions.filter(isOwn).length,
				interrupted: recovered.interrupted.filter(isOwn).map(commandHistoryEntry),
			});
		},
	} satisfies Partial<Handlers>;
}

async function commandHistory(
	{ principal, command }: Call<"get_command_history">,
	journal: ServerHandlersOptions["journal"],
): Promise<Done> {
	const { sessionIdFilter, commandId, fromTimestamp, toTimestamp } = command;
	const limit = command.limit ?? DEFAULT_HISTORY_LIMIT;
	const found = await journal.commandHistory({
		principal,
		...(sessionIdFilter !== undefined && { sessionId: sessionIdFilter }),
		...(commandId !== undefined && { commandId }),
		...(fromTimestamp !== undefined && { fromMs: fromTimestamp }),
		...(toTimestamp !== undefined && { toMs: toTimestamp }),
		limit: limit + 1,
	});
	const entries = found.slice(0, limit);
	return answer<"get_command_history">({
		enabled: true,
		initState: journal.health().ok ? "ready" : "failed",
		filters: {
			...(sessionIdFilter !== undefined && { sessionIdFilter }),
			...(commandId !== undefined && { commandId }),
			...(fromTimestamp !== undefined && { fromTimestamp }),
			...(toTimestamp !== undefined && { toTimestamp }),
			limit,
		},
		entries,
		returned: entries.length,
		truncated: found.length > limit,
	});
}

function answer<Type extends keyof ResponseData>(data: ResponseData[Type]): Done {
	return { data };
}

type Caller = Pick<Call, "principal" | "client">;

type Attachments = ReturnType<typeof createAttachments>;

export function createAttachments(
	sessions: Pick<Sessions, "has" | "openDialogs">,
	streams: Pick<Streams, "subscribe" | "hasUiRequest" | "isSubscribed">,
	traffic: Pick<ServerTraffic, "subscribe" | "unsubscribe">,
	onLifecycle: (client: Client) => void = () => {},
) {
	/** Sets which events the connection gets besides those of sessions. Never rejects. */
	async function setEvents(
		client: Client,
		{ lifecycle, traffic: isWanted }: CommandOf<"subscribe">,
	): Promise<void> {
		if (lifecycle) {
			client.lifecycle = lifecycle;
			onLifecycle(client);
		}
		if (isWanted !== undefined) await traffic[isWanted ? "subscribe" : "unsubscribe"](client);
	}

	/** Subscribes from `after` (default: now) and sends open dialogs. Resolves to the last event's number. */
	async function attach(caller: Caller, sessionId: string, after?: number): Promise<number> {
		// The disconnect was already handled, so a new subscription would leak.
		if (caller.client.gone) return 0;
		const stream: StreamName = { principal: caller.principal, sessionId };
		const { seq } = await streams.subscribe(caller.client, stream, after);
		for (const event of sessions.openDialogs(stream)) {
			const isSent = isInStream(stream, event, after ?? seq);
			if (isSent instanceof Promise ? await isSent : isSent) continue;
			caller.client.send(new Message({ type: "event", sessionId, event }));
		}
		return seq;
	}

	/** Whether catching up sends the event. Never for a question, which `attach` sends with its time left. */
	function isInStream(
		stream: StreamName,
		event: Data<"SessionEvent">,
		after: number,
	): Later<boolean> {
		if (event.type !== "extension_ui_request" || isQuestion(event.method)) return false;
		return streams.hasUiRequest(stream, event.requestId, after);
	}

	/** Subscribes the client of a repeated command, which is answered without its handler. */
	function attachAgain(call: Caller & { command: Command }, data: () => unknown): void {
		const { command, principal, client } = call;
		if (command.type === "subscribe") void setEvents(client, command);
		const { sessionId, after } = subscriptionOf(command, data);
		if (typeof sessionId !== "string" || !sessions.has(principal, sessionId)) return;
		if (streams.isSubscribed(client, { principal, sessionId })) return;
		attach(call, sessionId, after).catch(() => {
			// `after` is past the last event, because another session has this id now.
		});
	}

	const checkedId = (caller: Caller, id: string) => checkedIn(sessions, caller, id);

	return { attach, attachAgain, checkedId, setEvents };
}

function checkedIn(sessions: Pick<Sessions, "has">, { principal }: Caller, id: string): string {
	if (sessions.has(principal, id)) return id;
	throw new CommandError("unknown_session", `There is no session "${id}"`);
}

function subscriptionOf(
	command: Command,
	data: () => unknown,
): { sessionId?: unknown; after?: number | undefined } {
	if (command.type === "subscribe") return command;
	if (command.type === "switch_session") return { sessionId: command.sessionId };
	if (command.type === "load_session") return { sessionId: property(data(), "sessionId") };
	if (command.type !== "create_session") return {};
	return { sessionId: property(data(), "sessionId"), after: 0 };
}
