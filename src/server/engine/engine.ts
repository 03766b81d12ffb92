import {
	type Command,
	PROTOCOL_VERSION,
	type Response,
	sessionOf,
	timeoutOf,
} from "../../protocol/index.ts";
import type { Journal } from "../journal/journal.ts";
import { createRateBucket, type EngineLimits } from "../limits.ts";
import type { Call, Handlers } from "./call.ts";
import { type Dependencies, Execution } from "./execution.ts";
import * as failures from "./failures.ts";
import { readFrame } from "./frame.ts";
import { Identities, type MemoryBounds } from "./identities.ts";
import { type Client, createMessage } from "./message.ts";
import { failureResponse } from "./outcome.ts";
import { Replies, sendAccepted } from "./replies.ts";
import { type Repeated, type Request, Run, type Sender, type Tenant } from "./run.ts";

export type Engine = ReturnType<typeof createEngine>;
export type EngineCounters = ReturnType<Engine["counters"]>;

export interface EngineOptions {
	journal: Journal;
	handlers: Handlers;
	limits: EngineLimits;
	serverVersion: string;
	transports: readonly string[];
	/** In-memory outcomes. Default: 10,000 names, 16 million characters. */
	memory?: MemoryBounds;
	/** A repetition got an earlier success, but its connection no subscription or other effect. */
	replayed?(call: Omit<Call, "signal">, data: () => unknown): void;
	now?: () => number;
	/** Monotonic, in milliseconds. */
	clock?: () => number;
}

/** Enough for a busy quarter of an hour; the journal answers older repetitions. */
const DEFAULT_MEMORY: MemoryBounds = { names: 10_000, characters: 16_000_000 };

/** During shutdown, reads of a client under backpressure are dropped after this time. */
const STALL_MS = 2_000;

/**
 * Accepts and answers commands: validation, lanes, replay, dependencies, versions, timeouts,
 * limits. Knows neither pi nor sockets: handlers do the work, clients carry the messages.
 */
export function createEngine(options: EngineOptions) {
	const { journal, limits, memory = DEFAULT_MEMORY, now = Date.now } = options;
	const clock = options.clock ?? (() => performance.now());
	const startMs = now();
	let anonymous = 0;
	const anonymousId = () => `anon:${startMs}:${++anonymous}`;
	const tenants = new Map<string, Tenant>();
	const senders = new Map<Client, Sender>();
	const identities = new Identities(journal, memory, now);
	const parts = { journal, identities, now, clock };
	const replies = new Replies({
		...parts,
		anonymousId,
		replayed: ({ sender: { client }, command }, data) =>
			options.replayed?.({ command, principal: client.principal, client }, data),
	});
	const { counters } = replies;
	const execution = new Execution({ ...parts, handlers: options.handlers, limits, replies });
	let isStopping = false;
	for (const { principal, id, version } of journal.recovered.sessions) {
		tenantOf(principal).sessions.set(id, { version, writing: undefined });
	}

	return {
		/** Sends `server_ready` first. */
		connect(client: Client): void {
			const tenant = tenantOf(client.principal);
			const sender: Sender = { client, tenant, pending: 0, onAnswered: [] };
			senders.set(client, sender);
			tenant.senders.add(sender);
			const { serverVersion, transports } = options;
			const data = {
				serverVersion,
				protocolVersion: PROTOCOL_VERSION,
				transports: [...transports],
			};
			client.send(createMessage({ type: "server_ready", data }));
		},

		/** Text, or bytes that should be UTF-8. Never throws. */
		receive(client: Client, bytes: string | Uint8Array): void {
			const sender = senders.get(client);
			if (sender === undefined) return;
			const frame = readFrame(bytes, limits.maxFrameBytes);
			const refusal = frame.ok ? refusalOf(sender, frame.command) : frame.response;
			if (refusal !== undefined) {
				counters.rejected += 1;
				client.send(createMessage(refusal));
			} else if (frame.ok) {
				const { command, row, fingerprint } = frame;
				accept({
					sender,
					command,
					row,
					commandId: command.id ?? anonymousId(),
					sessionId: sessionOf(command),
					fingerprint,
					acceptedAtMs: now(),
					acceptedMs: clock(),
					bytes: bytes.length,
				});
			}
		},

		/** The client's commands continue. */
		disconnect(client: Client): void {
			const sender = senders.get(client);
			if (sender === undefined) return;
			senders.delete(client);
			sender.tenant.senders.delete(sender);
			for (const resolve of sender.onAnswered.splice(0)) resolve();
			if (isStopping) execution.interruptReads();
		},

		/** Resolves when the client has all its responses so far, or is gone. */
		async answered(client: Client): Promise<void> {
			const sender = senders.get(client);
			if (sender === undefined || sender.pending === 0) return;
			await new Promise<void>((resolve) => sender.onAnswered.push(resolve));
		},

		version(principal: string, sessionId: string): number | undefined {
			return tenants.get(principal)?.sessions.get(sessionId)?.version;
		},

		counters() {
			let lanes = 0;
			for (const tenant of tenants.values()) lanes += tenant.lanes.size;
			return { ...counters, clients: senders.size, lanes };
		},

		latencyMs: () => replies.latencies.percentiles(),

		/** Refuses new commands, drains for up to `graceMs`, then aborts and stores failures. */
		async shutdown(reason: string, graceMs: number): Promise<void> {
			isStopping = true;
			const data = { reason, timeoutMs: graceMs };
			const message = createMessage({ type: "server_shutdown", data });
			for (const client of senders.keys()) client.send(message);
			execution.interruptReads();
			const isStalled = ({ gone, hasRoom }: Client) => gone || hasRoom === false;
			const stall = setTimeout(() => execution.interruptReads(isStalled), STALL_MS);
			const grace = setTimeout(() => execution.interrupt(), graceMs);
			await replies.whenIdle();
			clearTimeout(stall);
			clearTimeout(grace);
			execution.close();
		},
	};

	function refusalOf(sender: Sender, { id, type }: Command): Response | undefined {
		const { maxPendingPerClient } = limits;
		const isFull = sender.pending >= maxPendingPerClient;
		if (!isStopping && !isFull) return undefined;
		const failure = isStopping
			? failures.shuttingDown
			: failures.tooManyPending(maxPendingPerClient);
		return { ...failureResponse(type, failure), ...(id !== undefined && { id }) };
	}

	/** From here on the command has a lifecycle and exactly one response. */
	function accept(request: Request): void {
		counters.accepted += 1;
		sendAccepted(request);
		const earlier = request.fingerprint === "" ? undefined : identities.find(request);
		if (earlier?.kind === "refused") {
			replies.refuse(request, earlier.failure);
		} else if (earlier?.command.kind === "past" && earlier.command.digest === undefined) {
			replies.replay(request, earlier.command, earlier.names);
		} else if (isBusy(request)) {
			replies.refuse(request, failures.busy);
		} else if (earlier?.command.kind === "run") {
			replies.join(request, earlier.command, earlier.names);
		} else start(request, earlier && { past: earlier.command, names: earlier.names });
	}

	function isBusy({ sender: { tenant }, bytes }: Request): boolean {
		const { maxPending, maxPendingPerPrincipal } = limits;
		return (
			counters.pending >= maxPending ||
			tenant.pending >= maxPendingPerPrincipal ||
			isTooMuch(replies.pendingBytes, bytes, limits.maxPendingBytes) ||
			isTooMuch(tenant.pendingBytes, bytes, limits.maxPendingBytesPerPrincipal)
		);
	}

	function start(request: Request, repeats: Repeated | undefined): void {
		const { sender, row, command } = request;
		const { rate } = sender.tenant;
		const health = row.effect === "change" ? journal.health() : undefined;
		if (health?.ok === false) {
			replies.refuse(request, failures.journalUnavailable(health.why));
			return;
		}
		if (!rate.take()) {
			counters.rateLimited += 1;
			replies.refuse(request, failures.rateLimited(limits.commandsPerMinute, rate.waitMs()));
			return;
		}
		const run = new Run(request, timeoutOf(command), repeats);
		// A repetition's dependencies succeeded the first time.
		const found = repeats ? {} : dependenciesOf(request);
		identities.claim(request, run);
		execution.start(run, found);
	}

	// No dependency cycle is possible except a self-reference: a dependency is known, so it came
	// earlier, and lanes wait only for earlier commands.
	function dependenciesOf({ command, sender }: Request): Dependencies {
		if (command.dependsOn === undefined) return {};
		const { principal } = sender.tenant;
		const dependencies = new Set<Run>();
		for (const id of new Set(command.dependsOn)) {
			if (id === command.id) return { failure: failures.dependsOnItself(id) };
			const known = identities.byId(principal, id);
			if (known === undefined) {
				return { failure: failures.dependencyUnknown(id, journal.forgottenBefore(principal)) };
			}
			if (known.kind === "run") dependencies.add(known);
			else if (!known.outcome.response.success) return { failure: failures.dependencyFailed(id) };
		}
		return dependencies.size > 0 ? { dependencies } : {};
	}

	function tenantOf(principal: string): Tenant {
		const tenant: Tenant = tenants.get(principal) ?? {
			principal,
			rate: createRateBucket(limits.commandsPerMinute, clock),
			senders: new Set(),
			pending: 0,
			pendingBytes: 0,
			sessions: new Map(),
			lanes: new Map(),
		};
		tenants.set(principal, tenant);
		return tenant;
	}
}

/** With nothing held anything fits: a large command must be able to get in eventually. */
function isTooMuch(held: number, more: number, most: number): boolean {
	return held > 0 && held + more > most;
}
