import type { LifecycleData } from "../../protocol/index.ts";
import { createMessage, type Message } from "./message.ts";
import { type Outcome, replayMessage, responseMessage } from "./outcome.ts";
import type { Request, Run, SessionNews } from "./run.ts";
import type { Seat, Tenant } from "./tenant.ts";

/** `command_accepted` or `command_started`, to all who want to know. */
export function tellPhase(type: "command_accepted" | "command_started", request: Request): void {
	let message: Message | undefined;
	for (const seat of request.seat.tenant.seats) {
		if (!wants(seat, request)) continue;
		message ??= createMessage(
			{ type, data: request.about },
			`{"type":"${type}","data":${request.aboutJson}}`,
		);
		seat.client.send(message);
	}
}

/** `command_started`, unless the command only repeats an answer. */
export function tellStarted({ repeats, request }: Run): void {
	if (repeats === undefined) tellPhase("command_started", request);
}

/** `command_finished` to all who want to know, then the response to the client that asked. */
export function tellOutcome(request: Request, outcome: Outcome, replayed: boolean): void {
	tellFinished(request, outcome, replayed);
	const message = replayed ? replayMessage : responseMessage;
	request.seat.client.send(message(outcome, request.command.id));
}

function tellFinished(request: Request, outcome: Outcome, replayed: boolean): void {
	let message: Message | undefined;
	for (const seat of request.seat.tenant.seats) {
		if (!wants(seat, request)) continue;
		message ??= finishedMessage(request, outcome, replayed);
		seat.client.send(message);
	}
}

/** `session_created` or `session_deleted`, to all clients of the principal. */
export function tellNews(tenant: Tenant, news: SessionNews): void {
	const { kind, sessionId } = news;
	const message =
		kind === "removed"
			? createMessage({ type: "session_deleted", data: { sessionId } })
			: createMessage({ type: "session_created", data: { sessionId, ...news.info } });
	for (const seat of tenant.seats) seat.client.send(message);
}

function wants({ client }: Seat, request: Request): boolean {
	if (client.lifecycle === "all") return true;
	return client.lifecycle === "own" && client === request.seat.client;
}

function finishedMessage(request: Request, outcome: Outcome, replayed: boolean): Message {
	const { success, error, code, sessionVersion, timedOut } = outcome.response;
	const ending = {
		success,
		...(error !== undefined && { error }),
		...(code !== undefined && { code }),
		...(sessionVersion !== undefined && { sessionVersion }),
		...(replayed && { replayed: true as const }),
		...(timedOut && { timedOut }),
	};
	const data: LifecycleData = { ...request.about, ...ending };
	const json = `${request.aboutJson.slice(0, -1)},${JSON.stringify(ending).slice(1)}`;
	return createMessage(
		{ type: "command_finished", data },
		`{"type":"command_finished","data":${json}}`,
	);
}
