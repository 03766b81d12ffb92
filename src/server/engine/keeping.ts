import type { Journal } from "../journal/journal.ts";
import type { Past } from "./identities.ts";
import { finishedRecord, lateRecord } from "./records.ts";
import type { Run } from "./run.ts";
import type { SessionState } from "./tenant.ts";
import type { Applied } from "./versions.ts";

/** What has to be waited for before an outcome may be told. Resolves with false when it could not be kept. */
export type Safety = Promise<boolean> | undefined;

/**
 * Gives an outcome to the journal. Changes and timeouts must be on disk before anybody hears of them; what a command
 * has read must be too, since a version or a name once seen may not be taken back by a crash.
 */
export function keepOutcome(journal: Journal, run: Run, past: Past, applied?: Applied): Safety {
	const { request } = run;
	const { command, row } = request;
	if (row.effect === "change" || past.outcome.response.timedOut) {
		const record = finishedRecord(request, past, applied?.effects);
		return written(journal.finish(record), applied?.session);
	}
	if (command.id !== undefined || command.idempotencyKey !== undefined) {
		journal.note(finishedRecord(request, past));
	}
	return safetyOfReading(run);
}

/** What has been seen of a session is as safe as its latest change. */
export function safetyOfReading({ request: { seat, sessionId } }: Run): Safety {
	return sessionId === undefined ? undefined : seat.tenant.sessions.get(sessionId)?.writing;
}

/** Keeps what a command did after its outcome stood. Resolves when that is on disk, or never will be. */
export async function keepLate(
	journal: Journal,
	run: Run,
	{ effects, session }: Applied,
	atMs: number,
): Promise<void> {
	await written(journal.finish(lateRecord(run.request, effects, atMs)), session);
}

function written(writing: Promise<void>, session: SessionState | undefined): Promise<boolean> {
	const safe = writing.then(
		() => true,
		() => false,
	);
	if (session === undefined) return safe;
	const done = safe.then((ok) => {
		if (session.writing === done) session.writing = undefined;
		return ok;
	});
	session.writing = done;
	return done;
}
