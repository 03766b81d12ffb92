import type { SessionInfo } from "../../protocol/index.ts";
import type { Done } from "./call.ts";
import { unknownSession, versionMismatch } from "./failures.ts";
import type { Failure } from "./outcome.ts";
import type { Effects } from "./records.ts";
import type { Request, SessionNews } from "./run.ts";
import type { SessionState } from "./tenant.ts";

/** Why a command cannot run on its session as that is now. To be asked right before it would. */
export function sessionFailure({ command, row, seat, sessionId }: Request): Failure | undefined {
	const expected = command.ifSessionVersion;
	if (sessionId === undefined || (row.target !== "session" && expected === undefined)) {
		return undefined;
	}
	const session = seat.tenant.sessions.get(sessionId);
	if (session === undefined) return unknownSession(sessionId);
	if (expected === undefined || expected === session.version) return undefined;
	return versionMismatch(sessionId, session.version, expected);
}

/** What became of the sessions of the principal. */
export interface Applied {
	effects: Effects;
	news: SessionNews | undefined;
	/** The session the command was about or opened, if it exists now. */
	session: SessionState | undefined;
}

/**
 * Takes over what a command has done: a session it opened is at version 0, one it removed has none, and every other
 * change raises its session's version by one.
 */
export function applyDone({ row, seat, sessionId }: Request, done: Done): Applied {
	const { sessions } = seat.tenant;
	const effects: Effects = done.session === undefined ? {} : { session: done.session };
	let news: SessionNews | undefined;
	if (done.removed !== undefined) {
		sessions.delete(done.removed);
		effects.removed = done.removed;
		news = { kind: "removed", sessionId: done.removed };
	}
	if (done.opened && done.session !== undefined) {
		const session: SessionState = { version: 0, writing: undefined };
		sessions.set(done.session.id, session);
		effects.version = 0;
		news = { kind: "opened", sessionId: done.session.id, info: infoOf(done.data) };
		return { effects, news, session };
	}
	const id = done.session?.id ?? sessionId;
	const session = id === undefined ? undefined : sessions.get(id);
	if (session !== undefined && row.target === "session" && row.effect === "change") {
		session.version += 1;
		effects.version = session.version;
	}
	return { effects, news, session };
}

function infoOf(data: unknown): { sessionInfo?: SessionInfo } {
	if (typeof data !== "object" || data === null || !("sessionInfo" in data)) return {};
	return { sessionInfo: data.sessionInfo as SessionInfo };
}
