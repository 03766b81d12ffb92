import { property } from "../core/property.ts";
import type { ResponseData } from "../protocol/index.ts";
import type { Attachments } from "./attachments.ts";
import { type Call, CommandError, type Done, type Handler, type Handlers } from "./engine/call.ts";
import { historyEntry, type Journal } from "./journal/journal.ts";
import type { SessionReplay } from "./replay/session-replay.ts";
import type { Sessions } from "./sessions/sessions.ts";
import type { Streams } from "./streams/streams.ts";

export interface ServerHandlersOptions {
	sessions: Pick<Sessions, "handlers" | "count" | "readableFile">;
	streams: Pick<Streams, "unsubscribe" | "remove" | "begin">;
	attachments: Pick<Attachments, "attach" | "known">;
	journal: Pick<Journal, "history" | "recovered" | "health">;
	replay: SessionReplay;
	metrics(): ResponseData["get_metrics"];
	now?: () => number;
}

const DEFAULT_HISTORY = 100;

/**
 * A handler for every command: the sessions' own, and those of commands that need the streams, the journal or the server
 * as a whole. Creating and loading a session also subscribes the caller; deleting one ends its stream.
 */
export function createServerHandlers(options: ServerHandlersOptions): Handlers {
	const { sessions, streams, journal, replay } = options;
	const { attach, known } = options.attachments;
	const startedAtMs = (options.now ?? Date.now)();
	const { handlers } = sessions;

	function subscribing<Type extends "create_session" | "load_session">(handler: Handler<Type>) {
		return async (call: Call<Type>): Promise<Done> => {
			const done = await handler(call);
			const sessionId = property(done.data, "sessionId");
			if (typeof sessionId !== "string") return done;
			// What happened while a new session was opened is part of what its creator subscribes to.
			const begin = () => streams.begin({ principal: call.principal, sessionId });
			await attach(call, sessionId, done.opened ? begin() : undefined);
			return done;
		};
	}

	return {
		...handlers,
		create_session: subscribing(handlers.create_session),
		load_session: subscribing(handlers.load_session),
		async delete_session(call) {
			const done = await handlers.delete_session(call);
			streams.remove({ principal: call.principal, sessionId: call.command.sessionId });
			return done;
		},
		async subscribe(call) {
			const { sessionId, after, lifecycle } = call.command;
			const id = sessionId === undefined ? undefined : known(call, sessionId);
			if (lifecycle) call.client.lifecycle = lifecycle;
			const seq = id === undefined ? undefined : await attach(call, id, after);
			return answer<"subscribe">({
				...(seq !== undefined && { seq }),
				lifecycle: call.client.lifecycle,
			});
		},
		async switch_session(call) {
			const { principal, client, signal } = call;
			const sessionId = known(call, call.command.sessionId);
			const command = { type: "get_state" as const, sessionId };
			const state = await handlers.get_state({ principal, client, signal, command });
			const seq = await attach(call, sessionId);
			return { data: { sessionInfo: state.data, seq } };
		},
		async unsubscribe(call) {
			const { principal, client, command } = call;
			streams.unsubscribe(client, { principal, sessionId: known(call, command.sessionId) });
			return answer<"unsubscribe">({});
		},
		async get_metrics() {
			return answer<"get_metrics">(options.metrics());
		},
		async health_check() {
			const health = journal.health();
			const { uptimeMs } = options.metrics();
			return answer<"health_check">({
				status: health.ok ? "ok" : "degraded",
				problems: health.ok ? [] : [health.why],
				uptimeMs,
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
				interrupted: recovered.interrupted.filter(isOwn).map(historyEntry),
			});
		},
		async get_command_history({ principal, command }) {
			const { sessionIdFilter, commandId, fromTimestamp, toTimestamp } = command;
			const limit = command.limit ?? DEFAULT_HISTORY;
			const found = journal.history({
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
		},
		async replay_session({ command: { sessionPath, content }, principal, signal }) {
			if ((sessionPath === undefined) === (content === undefined)) {
				throw new CommandError("invalid_command", "give either sessionPath or content");
			}
			const by = { principal, signal };
			const report =
				content === undefined
					? await replay.ofFile(await sessions.readableFile(principal, sessionPath ?? ""), by)
					: await replay.ofContent(content, by);
			return { data: report };
		},
	};
}

function answer<Type extends keyof ResponseData>(data: ResponseData[Type]): Done {
	return { data };
}
