import type { Data } from "../../protocol/index.ts";
import type { Journal } from "../journal/journal.ts";
import { aliasRecord, type Identities } from "./identities.ts";
import { createMessage, createWrittenMessage, type Message } from "./message.ts";
import {
	type Failure,
	failed,
	type Outcome,
	type Past,
	replayMessage,
	responseMessage,
} from "./outcome.ts";
import type { NewNames, Repeated, Request, Run, SessionNews, Tenant } from "./run.ts";

export interface EngineParts {
	journal: Journal;
	identities: Identities;
	/** Wall clock, in milliseconds. */
	now: () => number;
	/** Monotonic, in milliseconds. */
	clock: () => number;
}

export interface RepliesOptions extends EngineParts {
	anonymousId: () => string;
	replayed: (request: Request, data: () => unknown) => void;
}

/** Calls `answer` when the request has its turn. */
export type InTurn = (request: Request, outcome: Outcome, answer: () => void) => void;

/** Answers each accepted command exactly once. Repetitions take no lane place and start nothing. */
export class Replies {
	readonly counters = {
		pending: 0,
		accepted: 0,
		finished: 0,
		failed: 0,
		replayed: 0,
		timedOut: 0,
		rateLimited: 0,
		rejected: 0,
	};
	readonly latencies = new Latencies();
	pendingBytes = 0;
	readonly #options: RepliesOptions;
	#onIdle: (() => void)[] = [];

	constructor(options: RepliesOptions) {
		this.#options = options;
	}

	begin({ sender, bytes }: Request): void {
		this.#count(sender, 1, bytes);
	}

	end({ sender, bytes, acceptedMs }: Request): void {
		this.latencies.note(this.#options.clock() - acceptedMs);
		this.#count(sender, -1, -bytes);
		if (sender.pending === 0) for (const resolve of sender.onAnswered.splice(0)) resolve();
		if (this.counters.pending === 0) for (const resolve of this.#onIdle.splice(0)) resolve();
	}

	#count(sender: Request["sender"], commands: number, bytes: number): void {
		const { tenant } = sender;
		sender.pending += commands;
		tenant.pending += commands;
		tenant.pendingBytes += bytes;
		this.pendingBytes += bytes;
		this.counters.pending += commands;
	}

	async whenIdle(): Promise<void> {
		if (this.counters.pending === 0) return;
		await new Promise<void>((resolve) => this.#onIdle.push(resolve));
	}

	/** Sends `command_finished` to its subscribers, then the response to the sender. */
	send(request: Request, outcome: Outcome, isReplayed: boolean): void {
		const { counters } = this;
		const { success, timedOut } = outcome.response;
		counters.finished += 1;
		if (!success) counters.failed += 1;
		if (timedOut && !isReplayed) counters.timedOut += 1;
		if (isReplayed) counters.replayed += 1;
		broadcast(request, () => finishedJson(request, outcome, isReplayed));
		const message = isReplayed ? replayMessage : responseMessage;
		request.sender.client.send(message(outcome, request.command.id));
		if (isReplayed && success) {
			this.#options.replayed(request, () => JSON.parse(outcome.json).data);
		}
	}

	/** The failure is not kept: the command may be sent again. */
	refuse(request: Request, failure: Failure): void {
		this.send(request, failed(request.command.type, failure), false);
	}

	replay(request: Request, past: Past, names: NewNames): void {
		if (past.owed || !isNamed(request, names)) {
			this.send(request, past.outcome, true);
			return;
		}
		this.begin(request);
		this.#options.identities.remember(request, past, names);
		this.#recordAlias(request, past, names, () => this.#finish(request, past));
	}

	/** Answers a repeated read with its first answer, or with why that is gone. */
	repeat(run: Run, past: Past, { past: first, names }: Repeated): void {
		const { request, ended } = run;
		const isKept = ended?.isKept === true;
		this.send(request, past.outcome, isKept);
		if (!isKept) {
			const hasKey = !names.key && !ended?.isKeyGone;
			this.#options.identities.remember(request, first, { id: !names.id, key: hasKey });
		} else if (isNamed(request, names)) this.#recordAlias(request, past, names, () => {});
	}

	join(request: Request, run: Run, names: NewNames): void {
		this.begin(request);
		this.#options.identities.claim(request, run, names);
		run.joiners ??= [];
		run.joiners.push({ request, names });
	}

	answerJoiners({ joiners, ended }: Run, past: Past, inTurn: InTurn): void {
		const { identities } = this.#options;
		for (const { request, names: claimed } of joiners ?? []) {
			const names = { id: claimed.id, key: claimed.key && !ended?.isKeyGone };
			if (ended?.isKept) identities.remember(request, past, names);
			else identities.forget(request, names);
			const finish = () => inTurn(request, past.outcome, () => this.#finish(request, past));
			if (ended?.isKept && isNamed(request, names)) this.#recordAlias(request, past, names, finish);
			else finish();
		}
	}

	// A new name must be as durable as the first: after a crash it must not start a new command. A
	// journal failure does not hold back the outcome.
	#recordAlias(request: Request, past: Past, names: NewNames, finish: () => void): void {
		const { journal, anonymousId } = this.#options;
		const record = aliasRecord(request, past, { names, anonymousId });
		if (request.row.effect === "change") journal.finish(record).then(finish, finish);
		else {
			journal.note(record);
			finish();
		}
	}

	#finish(request: Request, past: Past): void {
		this.send(request, past.outcome, true);
		this.end(request);
	}
}

function isNamed({ command }: Request, names: NewNames): boolean {
	return (
		(names.id && command.id !== undefined) || (names.key && command.idempotencyKey !== undefined)
	);
}

export function sendAccepted(request: Request): void {
	broadcast(request, () => `{"type":"command_accepted","data":${aboutJson(request)}}`);
}

/** A repeated read does not start. */
export function sendStarted({ repeats, request }: Run): void {
	if (repeats !== undefined) return;
	broadcast(request, () => `{"type":"command_started","data":${aboutJson(request)}}`);
}

export function sendNews(tenant: Tenant, news: SessionNews | undefined): void {
	if (news === undefined) return;
	const message = createMessage(news);
	for (const { client } of tenant.senders) client.send(message);
}

function broadcast({ sender }: Request, json: () => string): void {
	let message: Message | undefined;
	for (const other of sender.tenant.senders) {
		const { lifecycle } = other.client;
		if (lifecycle !== "all" && !(lifecycle === "own" && other.client === sender.client)) continue;
		message ??= createWrittenMessage(json());
		other.client.send(message, other !== sender);
	}
}

function finishedJson(request: Request, { response }: Outcome, isReplayed: boolean): string {
	const { success, error, code, sessionVersion, timedOut } = response;
	const ending = JSON.stringify({
		success,
		error,
		code,
		sessionVersion,
		replayed: isReplayed || undefined,
		timedOut,
	} satisfies Writable<Data<"LifecycleData">>);
	const data = `${aboutJson(request).slice(0, -1)},${ending.slice(1)}`;
	return `{"type":"command_finished","data":${data}}`;
}

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
	} satisfies Writable<Data<"LifecycleData">>);
	return request.aboutJson;
}

type Writable<Fields> = { [Name in keyof Fields]?: Fields[Name] | undefined };

/** From acceptance to response, in milliseconds. */
export type Latency = NonNullable<Data<"ServerMetrics">["latencyMs"]>;

const LATENCIES = 1_024;

export class Latencies {
	readonly #ms = new Float64Array(LATENCIES);
	#count = 0;

	note(ms: number): void {
		this.#ms[this.#count++ % LATENCIES] = ms;
	}

	/** `undefined` before the first command. */
	percentiles(): Latency | undefined {
		const sorted = this.#ms.slice(0, Math.min(this.#count, LATENCIES)).sort();
		if (sorted.length === 0) return undefined;
		const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] as number;
		return { p50: at(0.5), p90: at(0.9), p99: at(0.99) };
	}
}
