import type { Data, ResponseData } from "../../protocol/index.ts";
import type { Call, Done, Handlers } from "../engine/call.ts";
import type { SessionRecord } from "../journal/journal.ts";
import type { Cluster } from "./cluster.ts";
import type { Located } from "./find-place.ts";

interface ServerViewsOptions {
	/** `undefined` while the server starts. */
	cluster(): Pick<Cluster, "askAll" | "servers"> | undefined;
	/** The principal's sessions on all servers. */
	sessionsOf(principal: string): Promise<Located[]>;
}

type ListedSession = Data<"SessionInfo">;

/** Answers for all servers. A question that another server asked is answered for this one. */
export function withServers(handlers: Handlers, options: ServerViewsOptions): Handlers {
	return {
		...handlers,
		list_sessions: (call) => listSessions(call, handlers, options),
		async get_metrics(call) {
			const done = await handlers.get_metrics(call);
			const servers = options
				.cluster()
				?.servers()
				.map(({ address, sessions, takesSessions, isSelf, isLinked }) => ({
					address,
					sessions,
					takesSessions,
					...(isSelf ? { isSelf: true as const } : { isLinked }),
				}));
			const data = done.data as ResponseData["get_metrics"];
			return { data: { ...data, ...(servers && { servers }) } };
		},
	};
}

async function listSessions(
	call: Call<"list_sessions">,
	handlers: Handlers,
	options: ServerViewsOptions,
): Promise<Done> {
	const done = await handlers.list_sessions(call);
	const own = done.data as ResponseData["list_sessions"];
	const cluster = options.cluster();
	if (call.client.relay || !cluster) return done;
	const { principal } = call;
	const [stored, answers] = await Promise.all([
		options.sessionsOf(principal).catch(() => []),
		cluster.askAll(principal, { type: "list_sessions" }),
	]);
	const servers = cluster.servers();
	const isAlone = servers.length <= 1;
	const addresses = new Map(isAlone ? [] : servers.map(({ id, address }) => [id, address]));
	const owners = new Map(stored.map(({ record, owner }) => [record.id, owner]));
	const known = new Map<string, ListedSession>();
	for (const { record, owner } of stored.toReversed()) {
		known.set(record.id, { ...storedInfo(record), ...at(owner && addresses.get(owner)) });
	}
	const add = (id: string | undefined, sessions: readonly ListedSession[]) => {
		for (const session of sessions) {
			const { sessionId } = session;
			// Each server lists parked sessions too. One that is not stored yet is where it is listed.
			const owner = owners.has(sessionId) ? owners.get(sessionId) : id;
			if (owner !== undefined && owner !== id) continue;
			known.set(sessionId, { ...session, ...at(owner && addresses.get(owner)) });
		}
	};
	for (const { id, json } of answers) add(id, sessionsIn(json));
	add(servers.find(({ isSelf }) => isSelf)?.id, own.sessions);
	return { data: { ...own, sessions: [...known.values()] } };
}

function at(server: string | undefined) {
	return server !== undefined && { server };
}

function sessionsIn(json: string): ListedSession[] {
	const { success, data } = JSON.parse(json);
	return success ? (data as ResponseData["list_sessions"]).sessions : [];
}

/** What the record says of a session that no server answers for. */
function storedInfo({ id, cwd, file, createdAtMs, settings }: SessionRecord): ListedSession {
	const { name, thinkingLevel, messageCount } = settings;
	return {
		sessionId: id,
		...(typeof name === "string" && { sessionName: name }),
		...(file !== undefined && { sessionFile: file }),
		cwd,
		thinkingLevel: (thinkingLevel ?? "off") as ListedSession["thinkingLevel"],
		isStreaming: false,
		messageCount: typeof messageCount === "number" ? messageCount : 0,
		createdAt: new Date(createdAtMs).toISOString(),
	};
}
