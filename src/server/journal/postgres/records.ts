import { JournalUnavailable, type StreamName } from "../journal.ts";
import type { JournalRecord } from "../messages.ts";
import { databaseRefusal } from "./database-refusal.ts";
import type { Held } from "./held.ts";

/** A record with the right to write it, as it was when the record was made. A property: a map of records costs more. */
export type RightfulRecord = JournalRecord & { right?: Held | undefined };

/** The session that a record is about. */
export function sessionOf(record: JournalRecord): StreamName | undefined {
	if (record.kind === "event") return record.event;
	if (record.kind === "entries") return record;
	if (record.kind === "session") {
		return { principal: record.session.principal, sessionId: record.session.id };
	}
	if (record.kind === "owner") return undefined;
	const { principal, sessionId: given } = record.command;
	const about =
		record.kind === "outcome" ? (record.session?.id ?? record.removed?.sessionId) : undefined;
	const sessionId = about ?? given;
	return sessionId === undefined ? undefined : { principal, sessionId };
}

/** A name may be used again after the session of that name was lost. */
export function opensSession(record: JournalRecord): boolean {
	if (record.kind !== "admit" && record.kind !== "outcome") return false;
	return record.command.type === "create_session" || record.command.type === "load_session";
}

/** The names that were added last. */
export class RecentNames extends Set<string> {
	override add(name: string): this {
		super.add(name);
		if (this.size > MAX_RECENT) this.delete(this.values().next().value as string);
		return this;
	}
}

const MAX_RECENT = 10_000;

/** Turns errors of the database into those of a journal. */
export async function explained<T>(answer: Promise<T>): Promise<T> {
	try {
		return await answer;
	} catch (error) {
		throw new JournalUnavailable("journal_unavailable", databaseRefusal(error).why);
	}
}
