import { PROTOCOL_VERSION, type Response, timeoutOf } from "../../protocol/index.ts";
import { createRequest, readFrame } from "./admission.ts";
import type { Client } from "./client.ts";
import { resolveDependencies } from "./dependencies.ts";
import type { Engine, EngineCounters, EngineOptions } from "./engine.ts";
import { Execution } from "./execution.ts";
import * as failures from "./failures.ts";
import { Identities, type MemoryBounds, Shelf } from "./identities.ts";
import { Latencies } from "./latency.ts";
import { tellPhase } from "./lifecycle.ts";
import { createMessage } from "./message.ts";
import { type Failure, failureResponse } from "./outcome.ts";
import { createRateBucket } from "./rate.ts";
import { Replies } from "./replies.ts";
import { type Repeated, type Request, Run } from "./run.ts";
import type { Seat, Tenant } from "./tenant.ts";

/** What a busy quarter of an hour needs; older repetitions are answered from the journal. */
const DEFAULT_MEMORY: MemoryBounds = { names: 10_000, characters: 16_000_000 };

/** Makes the engine of a server, with the sessions the journal recovered. */
export function createEngine(options: EngineOptions): Engine {
	const { journal, handlers, limits, memory = DEFAULT_MEMORY, now = Date.now } = options;
	const clock = options.clock ?? (() => performance.now());
	const startMs = now();
	let anonymous = 0;
	const anonymousId = () => `anon:${startMs}:${++anonymous}`;
	const counters = noCounters();
	const tenants = new Map<string, Tenant>();
	const seats = new Map<Client, Seat>();
	const identities = new Identities(journal, memory, now);
	const latencies = new Latencies();
	const replies = new Replies({
		journal,
		identities,
		counters,
		anonymousId,
		replayed: ({ seat, command }, data) =>
			options.replayed?.({ command, principal: seat.tenant.principal, client: seat.client }, data),
		ended: ({ acceptedMs }) => latencies.note(clock() - acceptedMs),
	});
	const execution = new Execution({
		journal,
		handlers,
		limits,
		identities,
		replies,
		now,
		clock,
	});
	let stopping = false;
	for (const { principal, id, version } of journal.recovered.sessions) {
		tenantOf(principal).sessions.set(id, { version, writing: undefined });
	}

	return {
		connect(client) {
			const tenant = tenantOf(client.principal);
			const seat: Seat = { client, tenant, pending: 0, onAnswered: [] };
			seats.set(client, seat);
			tenant.seats.add(seat);
			const { serverVersion, transports } = options;
			const data = {
				serverVersion,
				protocolVersion: PROTOCOL_VERSION,
				transports: [...transports],
			};
			client.send(createMessage({ type: "server_ready", data }));
		},

		receive(client, frame) {
			const seat = seats.get(client);
			if (seat === undefined) return;
			const read = readFrame(frame, limits.maxFrameBytes);
			if (!read.ok) {
				reject(seat, read.response);
				return;
			}
			const failure = gateFailure(seat);
			if (failure !== undefined) {
				const { id, type } = read.command;
				reject(seat, { ...failureResponse(type, failure), ...(id !== undefined && { id }) });
				return;
			}
			const times = { admittedAtMs: now(), acceptedMs: clock() };
			admit(createRequest(seat, read, { ...times, bytes: frame.length, anonymousId }));
		},

		disconnect(client) {
			const seat = seats.get(client);
			if (seat === undefined) return;
			seats.delete(client);
			seat.tenant.seats.delete(seat);
			for (const resolve of seat.onAnswered.splice(0)) resolve();
			if (stopping) execution.interruptReads(isGone);
		},

		async answered(client) {
			const seat = seats.get(client);
			if (seat === undefined || seat.pending === 0) return;
			await new Promise<void>((resolve) => seat.onAnswered.push(resolve));
		},

		version(principal, sessionId) {
			return tenants.get(principal)?.sessions.get(sessionId)?.version;
		},

		counters() {
			let lanes = 0;
			for (const tenant of tenants.values()) lanes += tenant.lanes.size;
			return { ...counters, clients: seats.size, lanes };
		},

		latencyMs: () => latencies.percentiles(),

		async shutdown(reason, graceMs) {
			stopping = true;
			const data = { reason, timeoutMs: graceMs };
			const message = createMessage({ type: "server_shutdown", data });
			for (const { client } of seats.values()) client.send(message);
			execution.interruptReads(isGone);
			const idle = replies.whenIdle();
			const stall = setTimeout(() => execution.interruptReads(isStalled), STALL_MS);
			const grace = setTimeout(() => execution.interrupt(), graceMs);
			await idle;
			clearTimeout(stall);
			clearTimeout(grace);
			execution.close();
		},
	};

	/** Why a valid command is not even admitted. */
	function gateFailure(seat: Seat): Failure | undefined {
		if (stopping) return failures.shuttingDown;
		if (seat.pending < limits.maxPendingPerClient) return undefined;
		return failures.tooManyPending(limits.maxPendingPerClient);
	}

	function reject({ client }: Seat, response: Response): void {
		counters.rejected += 1;
		client.send(createMessage(response));
	}

	/** From here on the command is told of, and answered, exactly once. */
	function admit(request: Request): void {
		counters.accepted += 1;
		tellPhase("command_accepted", request);
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

	function isBusy({ seat: { tenant }, bytes }: Request): boolean {
		const { maxPending, maxPendingPerPrincipal } = limits;
		return (
			counters.pending >= maxPending ||
			tenant.pending >= maxPendingPerPrincipal ||
			isTooMuch(replies.pendingBytes, bytes, limits.maxPendingBytes) ||
			isTooMuch(tenant.pendingBytes, bytes, limits.maxPendingBytesPerPrincipal)
		);
	}

	function start(request: Request, repeats: Repeated | undefined): void {
		const { seat, row, command } = request;
		const { rate } = seat.tenant;
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
		const run = new Run(request, timeoutOf(command));
		run.repeats = repeats;
		// What a repetition depends on succeeded before its first time.
		const failure = repeats ? undefined : resolveDependencies(run, { identities, journal });
		identities.claim(request, run);
		if (failure === undefined) execution.start(run);
		else execution.fail(run, failure);
	}

	function tenantOf(principal: string): Tenant {
		let tenant = tenants.get(principal);
		if (tenant === undefined) {
			tenant = {
				principal,
				rate: createRateBucket(limits.commandsPerMinute, clock),
				seats: new Set(),
				pending: 0,
				pendingBytes: 0,
				sessions: new Map(),
				lanes: new Map(),
				ids: new Shelf(),
				keys: new Map(),
			};
			tenants.set(principal, tenant);
		}
		return tenant;
	}
}

/** A client that has no room for its reads this long after the server began to stop does not get them. */
const STALL_MS = 2_000;

function isGone({ gone }: Client): boolean {
	return gone;
}

function isStalled({ gone, hasRoom }: Client): boolean {
	return gone || hasRoom === false;
}

/** Where nothing is held, anything fits: a command that is refused now must be able to get in later. */
function isTooMuch(held: number, more: number, most: number): boolean {
	return held > 0 && held + more > most;
}

function noCounters(): EngineCounters {
	return {
		clients: 0,
		pending: 0,
		lanes: 0,
		accepted: 0,
		finished: 0,
		failed: 0,
		replayed: 0,
		timedOut: 0,
		rateLimited: 0,
		rejected: 0,
	};
}
