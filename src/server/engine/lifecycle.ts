import type { LifecycleData } from "../../protocol/index.ts";
import { createMessage, createWrittenMessage, type Message } from "./message.ts";
import { type Outcome, replayMessage, responseMessage } from "./outcome.ts";
import type { Request, Run, SessionNews } from "./run.ts";
import type { Seat, Tenant } from "./tenant.ts";

/** `command_accepted` or `command_started`, to all who want to know. */
export function tellPhase(type: "command_accepted" | "command_started", request: Request): void {
	let message: Message | undefined;
	for (const seat of request.seat.tenant.seats) {
		if (!wants(seat, request)) continue;
		message ??= createWrittenMessage(`{"type":"${type}","data":${aboutJson(request)}}`);
		seat.client.send(message, seat !== request.seat);
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
		seat.client.send(message, seat !== request.seat);
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
	// What is undefined is not written.
	const ending = JSON.stringify({
		success,
		error,
		code,
		sessionVersion,
		replayed: replayed || undefined,
		timedOut,
	} satisfies Writable<LifecycleData>);
	const data = `${aboutJson(request).slice(0, -1)},${ending.slice(1)}`;
	return createWrittenMessage(`{"type":"command_finished","data":${data}}`);
}

/** What the lifecycle events of a command have in common. Written once, and not at all where no client wants them. */
function aboutJson(request: Request): string {
	if (request.aboutJson !== undefined) return request.aboutJson;
	const { command, commandId, sessionId } = request;
	request.aboutJson = JSON.stringify({
		commandId,
		commandType: command.type,
		sessionId,
		dependsOn: command.dependsOn ?? [],
		ifSessionVersion: command.ifSessionVersion,
		idempotencyKey: command.idempotencyKey,
	} satisfies Writable<LifecycleData>);
	return request.aboutJson;
}

/** Some of the fields of what becomes JSON, or `undefined` in their place. */
type Writable<Fields> = { [Name in keyof Fields]?: Fields[Name] | undefined };
