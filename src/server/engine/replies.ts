import type { Data } from "../../protocol/index.ts";
import type { Journal } from "../journal/journal.ts";
import { aliasRecord, type KnownCommands } from "./known-commands.ts";
import { Message } from "./message.ts";
import { type Failure, failed, type Outcome, type PastRun, responseMessage } from "./outcome.ts";
import type {
	ReceivedCommand,
	RepeatedRead,
	Repetition,
	Run,
	SessionNotice,
	Tenant,
} from "./run.ts";

export interface EngineParts {
	readonly journal: Journal;
	readonly knownCommands: KnownCommands;
	/** Wall clock, in milliseconds. */
	readonly now: () => number;
	/** Monotonic clock, in milliseconds. */
	readonly clock: () => number;
}

interface RepliesOptions extends EngineParts {
	readonly anonymousId: () => string;
	readonly onAnsweredAgain: (received: ReceivedCommand, data: () => unknown) => void;
}

/** Calls `answer` when the command has its turn. */
export type InTurn = (received: ReceivedCommand, outcome: Outcome, answer: () => void) => void;

/** Answers each accepted command exactly once. Repetitions answered here take no place in a lane. */
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
	readonly #onIdle: (() => void)[] = [];

	constructor(options: RepliesOptions) {
		this.#options = options;
	}

	begin({ sender, bytes }: ReceivedCommand): void {
		this.#count(sender, 1, bytes);
	}

	end({ sender, bytes, acceptedMs }: ReceivedCommand): void {
		this.latencies.note(this.#options.clock() - acceptedMs);
		this.#count(sender, -1, -bytes);
		this.noteIdle({ sender });
	}

	/** Counts a command that waits to be admitted. */
	hold({ sender, bytes }: ReceivedCommand): void {
		this.#count(sender, 1, bytes);
	}

	/** Call `noteIdle` when the command is admitted or refused. */
	letGo({ sender, bytes }: ReceivedCommand): void {
		this.#count(sender, -1, -bytes);
	}

	noteIdle({ sender }: Pick<ReceivedCommand, "sender">): void {
		if (sender.pending === 0) for (const resolve of sender.onAnswered.splice(0)) resolve();
		if (this.counters.pending === 0) for (const resolve of this.#onIdle.splice(0)) resolve();
	}

	#count(sender: ReceivedCommand["sender"], commands: number, bytes: number): void {
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

	/** Sends `command_finished` to the clients that want it, then the response to the sender. */
	send(received: ReceivedCommand, outcome: Outcome, isRepetition: boolean): void {
		const { counters } = this;
		const { origin } = received;
		if (outcome.moved && origin) {
			origin.moved(outcome.moved);
			return;
		}
		const { success, timedOut } = outcome.response;
		counters.finished += 1;
		if (!success) counters.failed += 1;
		if (timedOut && !isRepetition) counters.timedOut += 1;
		if (isRepetition) counters.replayed += 1;
		const replayed = isRepetition || undefined;
		broadcast(received, () => finishedJson(received, outcome, replayed));
		const message = responseMessage(outcome, received.command.id, replayed);
		if (origin?.reply) origin.reply(message);
		else received.sender.client.send(message);
		if (isRepetition && success) {
			this.#options.onAnsweredAgain(received, () => JSON.parse(outcome.json).data);
		}
	}

	/** Sends a failure that is not kept, so the client may send the command again. */
	refuse(received: ReceivedCommand, failure: Failure): void {
		this.send(received, failed(received.command.type, failure), false);
	}

	answerAgain(repetition: Repetition, past: PastRun): void {
		const { received, names } = repetition;
		if (past.unsaved || !hasNewName(repetition)) this.send(received, past.outcome, true);
		else {
			this.begin(received);
			this.#options.knownCommands.remember(received, past, names);
			this.#recordAlias(repetition, past, () => this.#finish(received, past));
		}
	}

	/** Answers a repeated read with its first answer, or says why that is impossible. */
	answerRepeatedRead(run: Run, past: PastRun, { past: first, names }: RepeatedRead): void {
		const { received, completed } = run;
		const isKept = completed?.isKept === true;
		this.send(received, past.outcome, isKept);
		if (!isKept) {
			const hasKey = !names.key && !completed?.isKeyFree;
			this.#options.knownCommands.remember(received, first, { id: !names.id, key: hasKey });
		} else if (hasNewName({ received, names })) {
			this.#recordAlias({ received, names }, past, () => {});
		}
	}

	/** Coalesces a repetition with the command in flight: one run answers both. */
	join(repetition: Repetition, run: Run): void {
		this.begin(repetition.received);
		this.#options.knownCommands.claim(repetition.received, run, repetition.names);
		run.joiners ??= [];
		run.joiners.push(repetition);
	}

	answerJoiners({ joiners, completed }: Run, past: PastRun, inTurn: InTurn): void {
		const { knownCommands } = this.#options;
		for (const { received, names: claimed } of joiners ?? []) {
			const names = { id: claimed.id, key: claimed.key && !completed?.isKeyFree };
			if (completed?.isKept) knownCommands.remember(received, past, names);
			else knownCommands.release(received, names);
			const finish = () => inTurn(received, past.outcome, () => this.#finish(received, past));
			const repetition = { received, names };
			if (completed?.isKept && hasNewName(repetition)) this.#recordAlias(repetition, past, finish);
			else finish();
		}
	}

	// A new name must be as durable as the first one: after a crash, a repetition under the new name must
	// not run again. If the journal fails, the outcome is sent anyway.
	#recordAlias(repetition: Repetition, past: PastRun, finish: () => void): void {
		const { journal, anonymousId } = this.#options;
		const record = aliasRecord(repetition, past, anonymousId);
		if (repetition.received.row.effect === "change") journal.finish(record).then(finish, finish);
		else {
			journal.note(record);
			finish();
		}
	}

	#finish(received: ReceivedCommand, past: PastRun): void {
		this.send(received, past.outcome, true);
		this.end(received);
	}
}

function hasNewName({ received: { command }, names }: Repetition): boolean {
	if (names.id && command.id !== undefined) return true;
	return names.key && command.idempotencyKey !== undefined;
}

export function sendAccepted(received: ReceivedCommand): void {
	broadcast(received, () => `{"type":"command_accepted","data":${aboutJson(received)}}`);
}

/** Sends nothing for a repeated read. */
export function sendStarted({ repeats, received }: Run): void {
	if (repeats !== undefined) return;
	broadcast(received, () => `{"type":"command_started","data":${aboutJson(received)}}`);
}

export function sendNotice(tenant: Tenant, notice: SessionNotice | undefined): void {
	if (notice === undefined) return;
	const message = new Message(notice);
	for (const { client } of tenant.senders) if (!client.relay) client.send(message);
	for (const relay of tenant.relays) relay.send(message, "notice");
}

function broadcast({ sender }: ReceivedCommand, json: () => string): void {
	let message: Message | undefined;
	for (const other of sender.tenant.senders) {
		const { lifecycle, relay } = other.client;
		const isWanted = lifecycle === "all" && !relay;
		if (!isWanted && !(lifecycle === "own" && other.client === sender.client)) continue;
		message ??= Message.fromJson(json());
		other.client.send(message, other !== sender);
	}
	for (const relay of sender.tenant.relays) {
		if (!relay.wantsLifecycle) continue;
		message ??= Message.fromJson(json());
		relay.send(message, "lifecycle");
	}
}

function finishedJson(received: ReceivedCommand, { response }: Outcome, replayed?: true): string {
	const { success, error, code, sessionVersion, timedOut } = response;
	const result: LifecycleFields = { success, error, code, sessionVersion, replayed, timedOut };
	const data = `${aboutJson(received).slice(0, -1)},${JSON.stringify(result).slice(1)}`;
	return `{"type":"command_finished","data":${data}}`;
}

function aboutJson(received: ReceivedCommand): string {
	const { command, commandId, sessionId } = received;
	received.aboutJson ??= JSON.stringify({
		commandId,
		commandType: command.type,
		sessionId,
		dependsOn: command.dependsOn ?? [],
		ifSessionVersion: command.ifSessionVersion,
		idempotencyKey: command.idempotencyKey,
	} satisfies LifecycleFields);
	return received.aboutJson;
}

type Lifecycle = Data<"LifecycleData">;
type LifecycleFields = { [Name in keyof Lifecycle]?: Lifecycle[Name] | undefined };

/** Percentiles of the time from acceptance to response, in milliseconds. */
export type Latency = NonNullable<Data<"ServerMetrics">["latencyMs"]>;

const LATENCY_SAMPLES = 1_024;

export class Latencies {
	readonly #ms = new Float64Array(LATENCY_SAMPLES);
	#count = 0;

	note(ms: number): void {
		this.#ms[this.#count++ % LATENCY_SAMPLES] = ms;
	}

	/** `undefined` before the first command. */
	percentiles(): Latency | undefined {
		const sorted = this.#ms.slice(0, Math.min(this.#count, LATENCY_SAMPLES)).sort();
		if (sorted.length === 0) return undefined;
		const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] as number;
		return { p50: at(0.5), p90: at(0.9), p99: at(0.99) };
	}
}
