import type { AdmittedCommand, FinishedCommand, SessionRecord } from "../journal/journal.ts";
import { keyScope, type Past } from "./identities.ts";
import { shortened } from "./outcome.ts";
import type { NewNames, Request } from "./run.ts";

/** What a command did to its session, for the journal. */
export interface Effects {
	version?: number;
	session?: SessionRecord;
	removed?: string;
}

/** The journal's record of a command. */
export function admittedRecord(request: Request): AdmittedCommand {
	const { command, seat, sessionId } = request;
	const { idempotencyKey } = command;
	const keySessionId = idempotencyKey === undefined ? undefined : keyScope(request);
	return {
		principal: seat.tenant.principal,
		id: request.commandId,
		type: command.type,
		...(sessionId !== undefined && { sessionId }),
		fingerprint: request.fingerprint,
		...(idempotencyKey !== undefined && { idempotencyKey }),
		...(keySessionId !== undefined && { keySessionId }),
		atMs: request.admittedAtMs,
	};
}

/** The same with its outcome. */
export function finishedRecord(request: Request, past: Past, effects?: Effects): FinishedCommand {
	const opened = effects?.session?.id;
	return {
		...admittedRecord(request),
		...(opened !== undefined && { sessionId: opened }),
		...keptOf(past),
		...effects,
	};
}

/** What the journal keeps of an outcome. */
function keptOf({
	outcome,
	digest,
	finishedAtMs,
}: Past): Pick<FinishedCommand, "response" | "json" | "digest" | "finishedAtMs"> {
	if (digest === undefined) return { response: outcome.response, json: outcome.json, finishedAtMs };
	return { ...shortened(outcome), digest, finishedAtMs };
}

/** A record of further names of a command that has one already. A key that comes without a new id needs an id of its own. */
export function aliasRecord(
	request: Request,
	past: Past,
	{ names, anonymousId }: { names: NewNames; anonymousId: () => string },
): FinishedCommand {
	const { idempotencyKey, keySessionId, ...record } = admittedRecord(request);
	return {
		...record,
		...keptOf(past),
		...(past.digest === undefined && { response: JSON.parse(past.outcome.json) }),
		id: names.id ? record.id : anonymousId(),
		...(names.key && idempotencyKey !== undefined && { idempotencyKey }),
		...(names.key && keySessionId !== undefined && { keySessionId }),
	};
}

/** A record of what a command did after its outcome stood; the journal keeps the first outcome and takes over the rest. */
export function lateRecord(request: Request, effects: Effects, atMs: number): FinishedCommand {
	const { version } = effects;
	const sessionVersion = version !== undefined && { sessionVersion: version };
	return {
		...admittedRecord(request),
		response: {
			type: "response",
			command: request.command.type,
			success: true,
			...sessionVersion,
		},
		finishedAtMs: atMs,
		...effects,
	};
}
