import { expect } from "vitest";
import { commandTypes } from "../../../src/protocol/command-table.ts";
import type { Data } from "../../../src/protocol/index.ts";
import type { Call, Done, Handler, Handlers } from "../../../src/server/engine/call.ts";
import { Engine, type EngineOptions } from "../../../src/server/engine/engine.ts";
import type { Client } from "../../../src/server/engine/message.ts";
import type { SessionRecord } from "../../../src/server/journal/journal.ts";
import type { EngineLimits } from "../../../src/server/limits.ts";
import { createMemoryJournal, type MemoryJournal } from "../../support/memory-journal.ts";

export const LIMITS: EngineLimits = {
	maxFrameBytes: 100_000,
	maxPendingPerClient: 1_000,
	maxPending: 10_000,
	maxPendingPerPrincipal: 10_000,
	maxPendingBytes: 100_000_000,
	maxPendingBytesPerPrincipal: 50_000_000,
	maxAnswerBytes: 1_000_000,
	commandsPerMinute: 1_000_000,
	shortMs: 1_000,
	longMs: 10_000,
	queueMs: 20_000,
	dependencyMs: 2_000,
	graceMs: 500,
};

/** A client that remembers what it was told. */
export interface TestClient extends Client {
	readonly frames: Frame[];
	gone: boolean;
}

/** A message as a client sees it, for tests that look at any field. */
export type Frame = {
	type: string;
	id?: string;
	data?: { commandId?: string; [field: string]: unknown };
	[field: string]: unknown;
};

/** A call of a handler that ends when the test says so. */
export interface HeldCall {
	readonly call: Call;
	finish(done?: Done): Promise<void>;
	fail(thrown: unknown): Promise<void>;
}

export interface Harness {
	readonly engine: Engine;
	readonly journal: MemoryJournal;
	/** Connects a client. */
	client(principal?: string, lifecycle?: Client["lifecycle"]): TestClient;
	/** Sends commands in one burst, then lets everything happen that needs no time. */
	send(client: TestClient, ...commands: unknown[]): Promise<void>;
	/** From now on calls of these commands wait in `held`. */
	hold(...types: string[]): void;
	readonly held: HeldCall[];
	/** Types of the commands whose handlers were called, in order. */
	readonly calls: string[];
	on(type: string, handler: (call: Call) => Promise<Done>): void;
}

export function createHarness(
	options: Partial<Omit<EngineOptions, "limits" | "journal">> & {
		limits?: Partial<EngineLimits>;
		journal?: MemoryJournal;
	} = {},
): Harness {
	const journal = options.journal ?? createMemoryJournal();
	const held: HeldCall[] = [];
	const calls: string[] = [];
	const special = new Map<string, (call: Call) => Promise<Done>>([
		["create_session", createSession],
		["delete_session", deleteSession],
	]);
	const handlers = Object.fromEntries(
		commandTypes.map((type): [string, Handler] => [
			type,
			(call) => {
				calls.push(type);
				return (special.get(type) ?? (async () => ({ data: { did: type } })))(call);
			},
		]),
	) as unknown as Handlers;
	const engine = new Engine({
		handlers,
		serverVersion: "9.9.9",
		transports: ["test"],
		...options,
		journal,
		limits: { ...LIMITS, ...options.limits },
	});

	return {
		engine,
		journal,
		held,
		calls,
		client(principal = "ann", lifecycle = "all") {
			const client = createTestClient(principal, lifecycle);
			engine.connect(client);
			return client;
		},
		async send(client, ...commands) {
			for (const command of commands) {
				const isFrame = typeof command === "string" || command instanceof Uint8Array;
				engine.receive(client, isFrame ? command : JSON.stringify(command));
			}
			await settled();
		},
		hold(...types) {
			for (const type of types) special.set(type, (call) => holdCall(held, call));
		},
		on(type, handler) {
			special.set(type, handler);
		},
	};
}

/** All that happens without waiting for time has happened. */
export async function settled(): Promise<void> {
	for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** The lifecycle phases and the response of a command in the order in which a client saw them. */
export function phases(client: TestClient, id: string): string[] {
	return client.frames.flatMap((frame) => {
		if (frame.type === "response" && frame.id === id) return ["response"];
		if (frame.data?.commandId !== id) return [];
		return [frame.type.replace("command_", "")];
	});
}

/** The order in which a client saw commands go through phases: `accepted a`, `started a`, … */
export function trace(client: TestClient): string[] {
	return client.frames.flatMap((frame) => {
		if (frame.type === "response") return [`response ${frame.id ?? "-"}`];
		if (frame.data?.commandId === undefined) return [frame.type];
		return [`${frame.type.replace("command_", "")} ${frame.data.commandId}`];
	});
}

/** The one response to an id. */
export function response(client: TestClient, id: string): Frame {
	const found = client.frames.filter((frame) => frame.type === "response" && frame.id === id);
	expect(found).toHaveLength(1);
	return found[0] as Frame;
}

/** The data of the one `command_finished` of an id. */
export function finished(client: TestClient, id: string): Record<string, unknown> {
	const found = client.frames.filter(
		(frame) => frame.type === "command_finished" && frame.data?.commandId === id,
	);
	expect(found).toHaveLength(1);
	return found[0]?.data as Record<string, unknown>;
}

export function sessionRecord(principal: string, id: string): SessionRecord {
	return { principal, id, cwd: "/project", createdAtMs: 1, settings: {} };
}

let clients = 0;

function createTestClient(principal: string, lifecycle: Client["lifecycle"]): TestClient {
	const frames: Frame[] = [];
	return {
		id: `client-${++clients}`,
		principal,
		lifecycle,
		gone: false,
		frames,
		send(message) {
			if (this.gone) return;
			const value = JSON.parse(message.json()) as Data<"ServerMessage">;
			// What a transport reads of a message and what it sends must be the same.
			expect(value).toEqual(JSON.parse(JSON.stringify(message.value)));
			expect(message.json()).not.toContain("\n");
			frames.push(value as Frame);
		},
	};
}

let sessions = 0;

async function createSession({ command, principal }: Call): Promise<Done> {
	const { sessionId = `made-${++sessions}` } = command as { sessionId?: string };
	return {
		data: { sessionId, sessionInfo: { sessionId } },
		session: sessionRecord(principal, sessionId),
		opened: true,
	};
}

async function deleteSession({ command }: Call): Promise<Done> {
	return { data: { deleted: true }, removed: (command as { sessionId: string }).sessionId };
}

function holdCall(held: HeldCall[], call: Call): Promise<Done> {
	const { promise, resolve, reject } = Promise.withResolvers<Done>();
	held.push({
		call,
		async finish(done = {}) {
			resolve(done);
			await settled();
		},
		async fail(thrown) {
			reject(thrown);
			await settled();
		},
	});
	return promise;
}

/** A harness with the session `s` and a client that made it; neither remembers how. */
export async function withSession(options: Parameters<typeof createHarness>[0] = {}) {
	const harness = createHarness(options);
	const client = harness.client();
	await harness.send(client, { type: "create_session", sessionId: "s" });
	client.frames.length = 0;
	harness.calls.length = 0;
	return { harness, client };
}

/** A short change of the session `s`. */
export const nameSession = (id: string, more = {}) => ({
	type: "set_session_name",
	id,
	sessionId: "s",
	name: id,
	...more,
});
