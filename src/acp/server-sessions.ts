import type { SessionInfo } from "@agentclientprotocol/sdk";
import { type Client, ClientError } from "../protocol/client.ts";
import type { Data } from "../protocol/index.ts";
import { invalidParams, sessionNotFound } from "./errors.ts";

export interface OpenedSession {
	readonly sessionId: string;
	readonly cwd: string;
	/** For the user. */
	readonly notices: string[];
}

const PAGE = 100;

/** The server has only its demo model, which works in a sample project of its own. */
const DEMO =
	"pi has no model with a key, so a scripted demo answers in a sample project. Run pi and use /login, or set a provider's key, then stop the server.";

export async function createSession(client: Client, cwd: string): Promise<OpenedSession> {
	const { data: listed } = await client.request("list_sessions");
	const isDemo = listed.startsIn !== undefined && "sample" in listed.startsIn;
	const { data } = await withRoom(client, listed.sessions, () =>
		client.request("create_session", isDemo ? {} : { cwd }),
	);
	const { sessionId, sessionInfo } = data;
	return { sessionId, cwd: sessionInfo.cwd, notices: isDemo ? [DEMO] : [] };
}

/** Finds the session on the server, else its file: the server's sessions and those of pi's terminal. */
export async function findSession(client: Client, id: string): Promise<OpenedSession> {
	const { data: listed } = await client.request("list_sessions");
	const open = listed.sessions.find(({ sessionId }) => sessionId === id);
	if (open) return { sessionId: id, cwd: open.cwd, notices: [] };
	const { data } = await client.request("list_stored_sessions");
	const stored = data.sessions.find(({ piSessionId }) => piSessionId === id);
	if (!stored) throw sessionNotFound(id);
	const { data: loaded } = await withRoom(client, listed.sessions, () =>
		client.request("load_session", { sessionPath: stored.sessionPath, sessionId: id }),
	);
	const { sessionId, sessionInfo, warning } = loaded;
	return { sessionId, cwd: sessionInfo.cwd, notices: warning === undefined ? [] : [warning] };
}

/** Open and stored sessions, the latest used first. */
export async function listSessions(
	client: Client,
	{ cwd, cursor }: { cwd?: string | null; cursor?: string | null },
): Promise<{ sessions: SessionInfo[]; nextCursor?: string }> {
	const from = cursor == null ? 0 : Number(cursor);
	if (!Number.isSafeInteger(from) || from < 0) throw invalidParams("That cursor is not of a list");
	const [open, stored] = await Promise.all([
		client.request("list_sessions"),
		client.request("list_stored_sessions"),
	]);
	const all = merged(open.data.sessions, stored.data.sessions)
		.filter((session) => cwd == null || session.cwd === cwd)
		.sort((a, b) => (b.updatedAt ?? "").localeCompare(a.updatedAt ?? ""));
	const sessions = all.slice(from, from + PAGE);
	const next = from + PAGE;
	return { sessions, ...(next < all.length && { nextCursor: String(next) }) };
}

function merged(
	open: readonly Data<"SessionInfo">[],
	stored: readonly Data<"StoredSession">[],
): SessionInfo[] {
	const byFile = new Map(stored.map((session) => [session.sessionPath, session]));
	const files = new Set(open.map(({ sessionFile }) => sessionFile));
	return [
		...open.map(({ sessionId, cwd, sessionName, sessionFile = "", createdAt }) => {
			const file = byFile.get(sessionFile);
			const title = sessionName ?? file?.firstMessage;
			const updatedAt = file?.modifiedAt ?? createdAt;
			return { sessionId, cwd, updatedAt, ...(title !== undefined && { title }) };
		}),
		...stored.flatMap((session) => {
			const { sessionPath, piSessionId: sessionId, cwd, modifiedAt } = session;
			const { sessionName, firstMessage } = session;
			if (sessionId === undefined || files.has(sessionPath)) return [];
			const title = sessionName ?? firstMessage;
			return [{ sessionId, cwd, updatedAt: modifiedAt, ...(title !== undefined && { title }) }];
		}),
	];
}

/** Opens a session. On a server that holds as many as it may, the oldest without a run is closed for it. */
async function withRoom<Opened>(
	client: Client,
	sessions: readonly Data<"SessionInfo">[],
	open: () => Promise<Opened>,
): Promise<Opened> {
	try {
		return await open();
	} catch (error) {
		const isFull = error instanceof ClientError && error.code === "limit_reached";
		if (!isFull || !(await closeOldest(client, sessions))) throw error;
		return await open();
	}
}

/** Only a session whose file has its id, under which it can be loaded again. False if there is none. */
async function closeOldest(
	client: Client,
	sessions: readonly Data<"SessionInfo">[],
): Promise<boolean> {
	const oldest = sessions
		.filter(({ isStreaming, sessionFile, sessionId }) => {
			return !isStreaming && sessionFile?.includes(sessionId);
		})
		.sort((a, b) => a.createdAt.localeCompare(b.createdAt))[0];
	if (!oldest) return false;
	await client.request("delete_session", { sessionId: oldest.sessionId });
	return true;
}
