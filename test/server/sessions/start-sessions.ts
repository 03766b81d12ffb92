import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
	type FauxProviderHandle,
	type FauxResponseStep,
	fauxProvider,
} from "@earendil-works/pi-ai";
import type { ModelRuntime } from "@earendil-works/pi-coding-agent";
import { Value } from "typebox/value";
import { commandTable } from "../../../src/protocol/command-table.ts";
import type { CommandFields, ResponseData } from "../../../src/protocol/index.ts";
import { SessionEvent } from "../../../src/protocol/session-events.ts";
import type { Call, Done, Handler } from "../../../src/server/engine/call.ts";
import type { SessionRecord } from "../../../src/server/journal/journal.ts";
import {
	createSessions,
	type Sessions,
	type SessionsOptions,
} from "../../../src/server/sessions/sessions.ts";
import { enterAgentDir, leaveAgentDir } from "../../support/agent-dir.ts";
import { recordProvider } from "../../support/golden.ts";
import { createMemoryJournal, type MemoryJournal } from "../../support/memory-journal.ts";
import { sdk } from "../../support/pi-sdk.ts";
import { atEnd, tempDir } from "../../support/temp.ts";

type SessionCommandType = keyof Sessions["handlers"];

/** What a command of a type takes, without its session where that is the default one. */
type Fields<Type extends SessionCommandType> = Omit<CommandFields<Type>, "sessionId"> & {
	sessionId?: string;
	id?: string;
};

export interface TestSessions {
	readonly sessions: Sessions;
	readonly agentDir: string;
	readonly cwd: string;
	readonly faux: FauxProviderHandle;
	readonly modelRuntime: ModelRuntime;
	/** Everything that was emitted for the session `s`, unless another is named. */
	events(sessionId?: string): SessionEvent[];
	/** As the journal would have them. */
	readonly records: Map<string, SessionRecord>;
	/** The journal as far as it remembers whose session files are. */
	readonly owners: MemoryJournal;
	/** The next process finds a journal that does not. */
	forgetOwners(): void;
	/** What was saved outside commands. */
	readonly saves: SessionRecord[];
	/** Runs a command of `anna` on session `s`, unless others are named, and checks its data against the protocol. */
	run<Type extends SessionCommandType>(
		type: Type,
		fields: Fields<Type>,
		options?: { principal?: string; signal?: AbortSignal },
	): Promise<ResponseData[Type]>;
	/** The same, with all that the engine would be told. */
	done<Type extends SessionCommandType>(type: Type, fields: Fields<Type>): Promise<Done>;
	/** Resolves with the first event that fits, of those there are or of those to come. */
	event<Type extends SessionEvent["type"]>(
		type: Type,
		fits?: (event: Extract<SessionEvent, { type: Type }>) => boolean,
	): Promise<Extract<SessionEvent, { type: Type }>>;
	forgetEvents(): void;
	script(...steps: FauxResponseStep[]): void;
	write(path: string, content: string): string;
	/** Ends the process, as far as sessions can tell, and starts the next. */
	restart(): Promise<void>;
}

export async function startSessions(
	given: Partial<SessionsOptions> & {
		extension?: string;
		settings?: object;
		tokensPerSecond?: number;
	} = {},
): Promise<TestSessions> {
	process.env.PI_OFFLINE = "1";
	const agentDir = tempDir("agent");
	const cwd = tempDir("cwd");
	enterAgentDir(agentDir);
	atEnd(() => leaveAgentDir(agentDir));
	const { extension, settings, tokensPerSecond, ...options } = given;
	const base = { defaultProvider: "faux", defaultModel: "faux-1", retry: { enabled: false } };
	writeFileSync(join(agentDir, "settings.json"), JSON.stringify({ ...base, ...settings }));
	if (extension) {
		mkdirSync(join(agentDir, "extensions"));
		writeFileSync(join(agentDir, "extensions", "asks.ts"), extension);
	}
	const faux = fauxProvider({
		provider: "faux",
		models: [
			{ id: "faux-1", contextWindow: 200_000, reasoning: true, cost: PRICES },
			{ id: "faux-2", contextWindow: 100_000, cost: PRICES },
		],
		...(tokensPerSecond && { tokensPerSecond }),
	});
	recordProvider(faux.provider);
	const modelRuntime = await sdk.ModelRuntime.create({
		authPath: join(agentDir, "auth.json"),
		modelsPath: null,
		refreshOnCreate: false,
	});
	modelRuntime.registerNativeProvider(faux.provider);
	const emitted: { sessionId: string; event: SessionEvent }[] = [];
	const listeners = new Set<() => void>();
	const records = new Map<string, SessionRecord>();
	const saves: SessionRecord[] = [];
	let owners = createMemoryJournal();
	const outside: unknown[] = [];
	atEnd(() => {
		if (outside.length > 0) throw new Error(`events out of protocol: ${JSON.stringify(outside)}`);
	});
	const start = () =>
		createSessions({
			agentDir,
			cwd,
			recovered: [...records.values()].map((record) => ({
				...structuredClone(record),
				version: 0,
			})),
			maxSessions: 100,
			modelRuntime,
			emit: ({ sessionId }, event) => {
				// As on the wire: what later changes in pi's objects must not change what was sent.
				const sent = JSON.parse(JSON.stringify(event));
				if (!Value.Check(SessionEvent, sent)) {
					outside.push(sent);
				}
				emitted.push({ sessionId, event: sent });
				for (const listener of [...listeners]) listener();
			},
			save: (record) => {
				saves.push(structuredClone(record));
				records.set(JSON.stringify([record.principal, record.id]), structuredClone(record));
			},
			owners,
			...options,
		});
	let sessions = await start();
	atEnd(() => sessions.close());

	const perform = async (
		type: SessionCommandType,
		fields: object,
		{ principal = "anna", signal }: { principal?: string; signal?: AbortSignal } = {},
	): Promise<Done> => {
		const command = { type, sessionId: "s", ...fields } as Call["command"];
		const client = { id: "c", principal, lifecycle: "all", send() {}, gone: false } as const;
		const call = { command, principal, client, signal: signal ?? new AbortController().signal };
		const done = await (sessions.handlers[type] as Handler)(call);
		const key = (id: string) => JSON.stringify([principal, id]);
		if (done.session) records.set(key(done.session.id), structuredClone(done.session));
		if (done.removed) records.delete(key(done.removed));
		// What is sent is what was written, which may have been for an earlier read.
		const data = JSON.parse(done.written?.json ?? JSON.stringify(done.data));
		const [problem] = Value.Errors(commandTable[type].data, data);
		if (problem) throw new Error(`${type} answered out of protocol: ${JSON.stringify(problem)}`);
		return { ...done, data };
	};

	return {
		get sessions() {
			return sessions;
		},
		agentDir,
		cwd,
		faux,
		modelRuntime,
		records,
		get owners() {
			return owners;
		},
		forgetOwners() {
			owners = createMemoryJournal();
		},
		saves,
		events: (sessionId = "s") =>
			emitted.filter((one) => one.sessionId === sessionId).map(({ event }) => event),
		run: async (type, fields, more) => (await perform(type, fields, more)).data as never,
		done: (type, fields) => perform(type, fields),
		event(type, fits = () => true) {
			const find = () =>
				emitted
					.map(({ event }) => event)
					.find((event) => event.type === type && fits(event as never));
			return new Promise((resolve) => {
				const look = () => {
					const found = find();
					if (!found) return;
					listeners.delete(look);
					resolve(found as never);
				};
				listeners.add(look);
				look();
			});
		},
		forgetEvents: () => {
			emitted.length = 0;
		},
		script: (...steps) => faux.setResponses(steps),
		write(path, content) {
			const full = join(cwd, path);
			mkdirSync(dirname(full), { recursive: true });
			writeFileSync(full, content);
			return full;
		},
		async restart() {
			await sessions.close();
			owners = owners.reopen();
			sessions = await start();
		},
	};
}

const PRICES = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
