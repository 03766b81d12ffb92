import type { CommandHistoryEntry, StoredCommand } from "../journal.ts";
import { fromBytes } from "./columns.ts";

export const COMMAND_COLUMNS = `commands.principal, commands.id, commands.type, commands.session, commands.fingerprint,
	commands.key, commands.key_scope, commands.node, commands.admitted_at, commands.outcome, commands.finished_at,
	commands.digest`;

export interface CommandRow {
	readonly principal: string;
	readonly id: Buffer;
	readonly type: string;
	readonly session: Buffer | null;
	readonly fingerprint: string;
	readonly key: Buffer | null;
	readonly key_scope: Buffer;
	readonly node: string;
	readonly admitted_at: string;
	readonly outcome: string | null;
	readonly finished_at: string | null;
	readonly digest: string | null;
}

export function storedCommand(row: CommandRow): StoredCommand {
	const scope = row.key_scope.length > 0 ? fromBytes(row.key_scope).slice(1) : undefined;
	return {
		principal: row.principal,
		id: fromBytes(row.id),
		type: row.type,
		...(row.session && { sessionId: fromBytes(row.session) }),
		fingerprint: row.fingerprint,
		...(row.key && { idempotencyKey: fromBytes(row.key) }),
		...(scope !== undefined && { keySessionId: scope }),
		atMs: Number(row.admitted_at),
		...(row.outcome !== null && { response: JSON.parse(row.outcome) }),
		...(row.finished_at !== null && { finishedAtMs: Number(row.finished_at) }),
		...(row.digest !== null && { digest: row.digest }),
	};
}

export interface HistoryRow {
	readonly id: Buffer;
	readonly type: string;
	readonly session: Buffer | null;
	readonly admitted_at: string;
	readonly finished_at: string | null;
	readonly summary: string | null;
}

export function historyEntry(row: HistoryRow): CommandHistoryEntry {
	return {
		commandId: fromBytes(row.id),
		commandType: row.type,
		...(row.session && { sessionId: fromBytes(row.session) }),
		atMs: Number(row.admitted_at),
		...(row.finished_at !== null && { finishedAtMs: Number(row.finished_at) }),
		...(row.summary !== null && JSON.parse(row.summary)),
	};
}
