import { randomUUID } from "node:crypto";
import { getOrAdd } from "../../core/get-or-add.ts";
import type { Later } from "../../core/later.ts";
import {
	type Command,
	PROTOCOL_VERSION,
	type Response,
	sessionOf,
	timeoutOf,
} from "../../protocol/index.ts";
import type {
	Claim,
	ClaimOptions,
	Journal,
	SessionRecord,
	StreamName,
} from "../journal/journal.ts";
import { createRateBucket, type EngineLimits } from "../limits.ts";
import { Arrivals } from "./arrivals.ts";
import type { Call, Handlers } from "./call.ts";
import { type Dependencies, Execution } from "./execution.ts";
import * as failures from "./failures.ts";
import { readFrame } from "./frame.ts";
import { type FoundNames, KnownCommands, type MemoryBounds, NO_NAMES } from "./known-commands.ts";
import { type Client, Message, type PrincipalRelay } from "./message.ts";
import { type Failure, failureResponse } from "./outcome.ts";
import { type EngineParts, type Latency, Replies, sendAccepted } from "./replies.ts";
import {
	type Origin,
	type ReceivedCommand,
	type RepeatedRead,
	Run,
	type Sender,
	type Tenant,
} from "./run.ts";

export type EngineCounters = ReturnType<Engine["counters"]>;

export interface EngineOptions {
	readonly journal: Journal;
	readonly handlers: Handlers;
	readonly limits: EngineLimits;
	readonly serverVersion: string;
	readonly transports: readonly string[];
	/** Upper bounds for the outcomes kept in memory. Default: 10,000 names and 16 million characters. */
	readonly memory?: MemoryBounds;
	/** Called when a repetition got a stored success. Its connection lacks effects such as a subscription. */
	onAnsweredAgain?(call: Omit<Call, "signal">, data: () => unknown): void;
	/** Whether this process can run a session that no process has. Default: it can. */
	readonly accepts?: ClaimOptions["accepts"];
	/** Whether this process may still answer for its sessions: no other can have taken them. Default: it may. */
	mayAnswer?(): boolean;
	/** Called with a session that this process has taken for a command. */
	onClaimed?(record: SessionRecord, claim: Pick<Held, "isCutOff" | "isOwn">): void;
	readonly now?: EngineParts["now"];
	readonly clock?: EngineParts["clock"];
}

type Held = Extract<Claim, { kind: "held" }>;

interface Prepared {
	readonly found: FoundNames;
	/** Why the command cannot run here. */
	readonly failure?: Failure | undefined;
}

/** Commands of the server that concern an existing session. */
export const NAMING_A_SESSION: ReadonlySet<string> = new Set([
	"delete_session",
	"subscribe",
	"unsubscribe",
	"switch_session",
]);

/** Enough for about 15 busy minutes. Repetitions of older commands are answered from the journal. */
const DEFAULT_MEMORY: MemoryBounds = { names: 10_000, characters: 16_000_000 };

/** During shutdown, reads of a client under backpressure are dropped after this time. */
const STALL_MS = 2_000;

/** Accepts and answers commands. Does not use pi or sockets: handlers do the work, clients carry messages. */
export class Engine {
	readonly #options: EngineOptions;
	readonly #now: EngineParts["now"];
	readonly #clock: EngineParts["clock"];
	readonly #anonymousId: () => string;
	readonly #tenants = new Map<string, Tenant>();
	readonly #senders = new Map<Client, Sender>();
	readonly #knownCommands: KnownCommands;
	readonly #replies: Replies;
	readonly #execution: Execution;
	readonly #arrivals: Arrivals<Prepared>;
	/** Sessions that are being given up. */
	readonly #leaving = new Map<string, Promise<void>>();
	#isStopping = false;

	constructor(options: EngineOptions) {
		const { journal, handlers, limits, memory = DEFAULT_MEMORY, now = Date.now } = options;
		const { clock = () => performance.now() } = options;
		this.#options = options;
		this.#now = now;
		this.#clock = clock;
		let anonymous = 0;
		// Several servers may start at once, and a clock may be set back.
		const engineId = randomUUID();
		this.#anonymousId = () => `anon:${engineId}:${++anonymous}`;
		this.#knownCommands = new KnownCommands(journal, memory, now);
		const parts = { journal, knownCommands: this.#knownCommands, now, clock };
		this.#replies = new Replies({
			...parts,
			anonymousId: this.#anonymousId,
			onAnsweredAgain: ({ sender: { client }, command }, data) =>
				options.onAnsweredAgain?.({ command, principal: client.principal, client }, data),
		});
		this.#execution = new Execution({ ...parts, handlers, limits, replies: this.#replies });
		this.#arrivals = new Arrivals({
			accept: (received, prepared) => this.#accept(received, prepared),
			replies: this.#replies,
		});
		for (const { principal, id, version } of journal.recovered.sessions) {
			this.#tenantOf(principal).sessions.set(id, { version, writing: undefined });
		}
	}

	/** Also sends `server_ready`. */
	connect(client: Client): void {
		const tenant = this.#tenantOf(client.principal);
		const sender: Sender = { client, tenant, pending: 0, onAnswered: [] };
		this.#senders.set(client, sender);
		tenant.senders.add(sender);
		const { serverVersion, transports } = this.#options;
		const protocolVersion = PROTOCOL_VERSION;
		const data = { serverVersion, protocolVersion, transports: [...transports] };
		if (!client.relay) client.send(new Message({ type: "server_ready", data }));
	}

	/** Whether `shutdown` was called. */
	get isStopping(): boolean {
		return this.#isStopping;
	}

	/** `bytes` is one frame: a string, or bytes that are expected to be UTF-8. Never throws. */
	receive(client: Client, bytes: string | Uint8Array, origin?: Origin): void {
		const sender = this.#senders.get(client);
		if (sender === undefined) return;
		const frame = origin?.frame ?? readFrame(bytes, this.#options.limits.maxFrameBytes);
		const refusal = frame.ok ? this.#refusalOf(sender, frame.command) : frame.response;
		if (refusal !== undefined && this.#isStopping && client.relay) {
			origin?.moved("refused"); // the next server takes it
		} else if (refusal !== undefined) {
			this.#replies.counters.rejected += 1;
			const message = new Message(refusal);
			if (origin?.reply) origin.reply(message);
			else client.send(message);
		} else if (frame.ok) {
			const { command, row, fingerprint } = frame;
			const received: ReceivedCommand = {
				sender,
				command,
				row,
				commandId: command.id ?? origin?.commandId ?? this.#anonymousId(),
				sessionId: sessionOf(command),
				fingerprint,
				acceptedAtMs: this.#now(),
				acceptedMs: this.#clock(),
				bytes: bytes.length,
				origin,
			};
			const prepared = this.#prepare(received);
			// A journal that answers at once costs no tick.
			const isNext = this.#arrivals.isEmpty && !(prepared instanceof Promise);
			if (isNext) this.#accept(received, prepared);
			else this.#arrivals.add(received, prepared);
		}
	}

	/** The client's commands continue. During shutdown, its waiting reads fail. */
	disconnect(client: Client): void {
		const sender = this.#senders.get(client);
		if (sender === undefined) return;
		this.#senders.delete(client);
		sender.tenant.senders.delete(sender);
		for (const resolve of sender.onAnswered.splice(0)) resolve();
		if (this.#isStopping) this.#execution.interruptReads();
	}

	/** Resolves when the client has no unanswered command, or is gone. */
	async whenAnswered(client: Client): Promise<void> {
		const sender = this.#senders.get(client);
		if (sender === undefined || sender.pending === 0) return;
		await new Promise<void>((resolve) => sender.onAnswered.push(resolve));
	}

	version(principal: string, sessionId: string): number | undefined {
		return this.#tenants.get(principal)?.sessions.get(sessionId)?.version;
	}

	counters() {
		let lanes = 0;
		for (const tenant of this.#tenants.values()) lanes += tenant.lanes.size;
		return { ...this.#replies.counters, clients: this.#senders.size, lanes };
	}

	latencyMs(): Latency | undefined {
		return this.#replies.latencies.percentiles();
	}

	/** Refuses new commands, waits up to `graceMs`, then aborts those in flight and stores failures. */
	async shutdown(reason: string, graceMs: number): Promise<void> {
		this.#isStopping = true;
		const execution = this.#execution;
		const data = { reason, timeoutMs: graceMs };
		const message = new Message({ type: "server_shutdown", data });
		for (const client of this.#senders.keys()) if (!client.relay) client.send(message);
		execution.interruptReads();
		const isStalled = ({ gone, hasRoom }: Client) => gone || hasRoom === false;
		const stall = setTimeout(() => execution.interruptReads(isStalled), STALL_MS);
		const grace = setTimeout(() => execution.interrupt(), graceMs);
		await this.#replies.whenIdle();
		clearTimeout(stall);
		clearTimeout(grace);
		execution.close();
	}

	#refusalOf(sender: Sender, { id, type }: Command): Response | undefined {
		const { maxPendingPerClient: most } = this.#options.limits;
		const full = sender.pending < most ? undefined : failures.tooManyPending(most);
		const failure = this.#isStopping ? failures.SHUTTING_DOWN : full;
		return failure && { ...failureResponse(type, failure), ...(id !== undefined && { id }) };
	}

	/** What must be known before a command is admitted: earlier commands of its names, and its session. */
	#prepare(received: ReceivedCommand): Later<Prepared> {
		const found = this.#knownCommands.lookUp(received);
		const session = this.#claimSession(received);
		if (found instanceof Promise || session instanceof Promise) {
			return Promise.all([found, session]).then(([found, failure]) => ({ found, failure }));
		}
		return session === undefined ? { found } : { found, failure: session };
	}

	/** Takes the session that the command names, if no process has it. Never throws or rejects. */
	#claimSession({ sender, row, sessionId, command }: ReceivedCommand): Later<Failure | undefined> {
		if (sessionId === undefined || sender.tenant.sessions.has(sessionId)) return undefined;
		if (row.target !== "session" && !NAMING_A_SESSION.has(command.type)) return undefined;
		return this.claim({ principal: sender.tenant.principal, sessionId });
	}

	/** Takes a session, if no process has it. Resolves to why it cannot be used here. Never throws or rejects. */
	claim(name: StreamName): Later<Failure | undefined> {
		const { principal, sessionId } = name;
		const { sessions } = this.#tenantOf(principal);
		const leaving = this.#leaving.get(`${principal} ${sessionId}`);
		if (leaving) return leaving.then(() => this.claim(name));
		const take = (claim: Claim): Failure | undefined => {
			if (claim.kind === "elsewhere") return failures.SESSION_LOST;
			if (claim.kind === "refused") return failures.noFolder(sessionId);
			if (claim.kind !== "held" || !claim.record || sessions.has(sessionId)) return undefined;
			sessions.set(sessionId, { version: claim.version, writing: undefined });
			this.#options.onClaimed?.(claim.record, claim);
			return undefined;
		};
		try {
			const claim = this.#options.journal.claim(name, { accepts: this.#options.accepts });
			if (!(claim instanceof Promise)) return take(claim);
			return claim.then(take, failures.notClaimed);
		} catch (error) {
			return failures.notClaimed(error);
		}
	}

	holds({ principal, sessionId }: StreamName): boolean {
		return this.#tenants.get(principal)?.sessions.has(sessionId) === true;
	}

	/** Whether commands of the session are in flight. */
	isBusy({ principal, sessionId }: StreamName): boolean {
		const tenant = this.#tenants.get(principal);
		if (!tenant) return false;
		return this.#arrivals.has(tenant, sessionId) || this.#execution.isBusy(tenant, sessionId);
	}

	/** Drops an idle session. Commands that name it wait until `left` resolves, and claim it again. */
	park({ principal, sessionId }: StreamName, left: Promise<unknown>): void {
		const key = `${principal} ${sessionId}`;
		this.#tenants.get(principal)?.sessions.delete(sessionId);
		this.#knownCommands.releaseKeys(principal, sessionId);
		const leaving = left
			.catch(() => {}) // the claim stays, and the next one replaces it
			.then(() => void this.#leaving.delete(key));
		this.#leaving.set(key, leaving);
	}

	/** Sends lifecycle events and notices of the principal to another server, too. Returns how to end that. */
	addRelay(principal: string, relay: PrincipalRelay): () => void {
		const { relays } = this.#tenantOf(principal);
		relays.add(relay);
		return () => relays.delete(relay);
	}

	/** Passes a message from another server on to the principal's clients. */
	passOn(principal: string, message: Message, kind: "lifecycle" | "notice"): void {
		for (const { client } of this.#tenants.get(principal)?.senders ?? []) {
			const isWanted = kind === "notice" || client.lifecycle === "all";
			if (isWanted && !client.relay) client.send(message, true);
		}
	}

	/** Drops sessions that another process has now. Their commands are not answered with an outcome. */
	lose(names: readonly StreamName[]): void {
		for (const { principal, sessionId } of names) {
			const tenant = this.#tenants.get(principal);
			if (!tenant) continue;
			tenant.sessions.delete(sessionId); // absent while its removal is written
			this.#knownCommands.releaseKeys(principal, sessionId);
			this.#arrivals.lose(tenant, sessionId, { found: NO_NAMES, failure: failures.SESSION_LOST });
			this.#execution.lose(tenant, sessionId);
		}
	}

	/** From here on, the command has lifecycle events and gets exactly one response. */
	#accept(received: ReceivedCommand, { found, failure }: Prepared): void {
		const replies = this.#replies;
		replies.counters.accepted += 1;
		sendAccepted(received);
		if (failure !== undefined) {
			replies.refuse(received, failure);
			return;
		}
		const isNamed = received.fingerprint !== "";
		const earlier = isNamed ? this.#knownCommands.findEarlier(received, found) : undefined;
		if (earlier?.kind === "refused") {
			replies.refuse(received, earlier.failure);
		} else if (earlier?.command.kind === "past" && earlier.command.digest === undefined) {
			replies.answerAgain({ received, names: earlier.names }, earlier.command);
		} else if (this.#isBusy(received)) {
			replies.refuse(received, failures.BUSY);
		} else if (earlier?.command.kind === "run") {
			replies.join({ received, names: earlier.names }, earlier.command);
		} else {
			const repeats = earlier && { past: earlier.command, names: earlier.names };
			this.#start(received, repeats, found);
		}
	}

	#isBusy({ sender: { tenant }, bytes }: ReceivedCommand): boolean {
		const { limits } = this.#options;
		const { counters, pendingBytes } = this.#replies;
		return (
			counters.pending >= limits.maxPending ||
			tenant.pending >= limits.maxPendingPerPrincipal ||
			isTooMuch(pendingBytes, bytes, limits.maxPendingBytes) ||
			isTooMuch(tenant.pendingBytes, bytes, limits.maxPendingBytesPerPrincipal)
		);
	}

	#start(received: ReceivedCommand, repeats: RepeatedRead | undefined, names: FoundNames): void {
		const { sender, row, command } = received;
		const { journal, limits } = this.#options;
		const { rate } = sender.tenant;
		// It waited for the journal's answer until all others were interrupted.
		if (this.#execution.isStopped) {
			this.#replies.refuse(received, failures.SHUTTING_DOWN);
			return;
		}
		const health = row.effect === "change" ? journal.health() : undefined;
		if (health?.ok === false) {
			this.#replies.refuse(received, failures.journalUnavailable(health.why));
			return;
		}
		if (row.target === "session" && this.#options.mayAnswer?.() === false) {
			this.#replies.refuse(received, failures.LEASE_OVER);
			return;
		}
		if (!rate.take()) {
			this.#replies.counters.rateLimited += 1;
			const failure = failures.rateLimited(limits.commandsPerMinute, rate.waitMs());
			this.#replies.refuse(received, failure);
			return;
		}
		const run = new Run(received, timeoutOf(command), repeats);
		// The dependencies of a repeated read succeeded the first time.
		const found = repeats ? {} : this.#dependenciesOf(received, names);
		this.#knownCommands.claim(received, run);
		this.#execution.start(run, found);
	}

	// The only possible cycle is a self-reference: a dependency must be known, so it arrived earlier,
	// and lanes wait only for earlier commands.
	#dependenciesOf({ command, sender }: ReceivedCommand, names: FoundNames): Dependencies {
		if (command.dependsOn === undefined) return {};
		const { principal } = sender.tenant;
		const dependencies = new Set<Run>();
		for (const id of new Set(command.dependsOn)) {
			if (id === command.id) return { failure: failures.dependsOnItself(id) };
			const known = this.#knownCommands.byId(principal, id, names);
			if (known === undefined) {
				const evictedBeforeMs = this.#options.journal.evictedBefore(principal);
				return { failure: failures.dependencyUnknown(id, evictedBeforeMs) };
			}
			if (known.kind === "run") dependencies.add(known);
			else if (!known.outcome.response.success) return { failure: failures.dependencyFailed(id) };
		}
		return dependencies.size > 0 ? { dependencies } : {};
	}

	#tenantOf(principal: string): Tenant {
		return getOrAdd(this.#tenants, principal, () => ({
			principal,
			rate: createRateBucket(this.#options.limits.commandsPerMinute, this.#clock),
			senders: new Set(),
			relays: new Set(),
			pending: 0,
			pendingBytes: 0,
			sessions: new Map(),
			lanes: new Map(),
		}));
	}
}

/** Always false if nothing is held; otherwise a large command could never run. */
function isTooMuch(held: number, more: number, most: number): boolean {
	return held > 0 && held + more > most;
}
