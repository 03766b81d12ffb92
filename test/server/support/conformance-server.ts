import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import {
	type LoopbackAnthropic,
	type LoopbackReply,
	modelsJson,
	startLoopbackAnthropic,
} from "../../support/loopback-anthropic.ts";
import type { LoopbackBody } from "../../support/loopback-cache.ts";
import { databaseWords } from "../../support/postgres.ts";
import { tempDir } from "../../support/temp.ts";
import { askingExtension } from "../sessions/asking-extension.ts";
import { type ServeProcess, startServe } from "./serve-process.ts";
import {
	type Answer,
	connectWire,
	createStdioWire,
	fresh,
	type Transport,
	type WireClient,
} from "./wire-client.ts";

/** The transports that every rule of the protocol is tested on. */
export const transports: readonly Transport[] = ["websocket", "stdio"];

export interface ConformanceOptions {
	/** As after `--limit`. */
	limits?: readonly string[];
	env?: NodeJS.ProcessEnv;
	/** Lines of a token file; without them whoever connects is `local`, as the client of stdio always is. */
	tokens?: Readonly<Record<string, string>>;
	/** More words of the command line. */
	words?: readonly string[];
	/** How many files and connections it may have open. */
	maxFiles?: number;
}

/** A real server in a process of its own, on a WebSocket and on its standard streams at once, with a scripted model. */
export interface ConformanceServer {
	readonly process: ServeProcess;
	readonly url: string;
	/** The address of its database, if it has one. */
	readonly database: string | undefined;
	readonly loop: LoopbackAnthropic;
	/** All that came over stdio since the process began. */
	stdioLines(): readonly string[];
	/** A client: over a connection of its own, or over the only one that stdio has. */
	client(transport: Transport, token?: string): Promise<WireClient>;
	/** Ends the process, by default as the kernel would, and starts another one in the same folders. */
	restart(signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
	stop(): Promise<void>;
}

/** One server for all tests of a file. */
export function useServer(options: ConformanceOptions = {}): ConformanceServer {
	let running: ConformanceServer;
	beforeAll(async () => {
		running = await startConformanceServer(options);
	});
	afterAll(async () => {
		await running?.stop();
	});
	return new Proxy({} as ConformanceServer, {
		get: (_target, name) => running[name as keyof ConformanceServer],
	});
}

export async function startConformanceServer(
	options: ConformanceOptions = {},
): Promise<ConformanceServer> {
	const loop = await startLoopbackAnthropic();
	loop.script(Array.from({ length: 1_000 }, () => replyTo));
	const agentDir = agentFolder(loop.url);
	const tokenFile = join(agentDir, "tokens");
	const lines = Object.entries(options.tokens ?? {}).map(([name, token]) => `${name}:${token}\n`);
	if (lines.length > 0) writeFileSync(tokenFile, lines.join(""), { mode: 0o600 });
	const database = await databaseWords();
	const words = [
		...["--stdio", "--port", "0", "--json"],
		...(lines.length > 0 ? ["--token-file", tokenFile] : ["--auth", "none"]),
		...(options.limits ?? []).flatMap((limit) => ["--limit", limit]),
		...database,
		...(options.words ?? []),
	];
	const start = async () => {
		const { env = {}, maxFiles } = options;
		const process = startServe(words, {
			agentDir,
			env,
			...(maxFiles && { shell: `ulimit -n ${maxFiles}` }),
		});
		const stdio = createStdioWire(process.child);
		const { port } = await process.ready();
		return { process, stdio, url: `ws://127.0.0.1:${port}` };
	};
	let now = await start();
	return {
		loop,
		database: database[1],
		get process() {
			return now.process;
		},
		get url() {
			return now.url;
		},
		stdioLines: () => now.stdio.lines,
		async client(transport, token) {
			if (transport === "websocket") return connectWire(now.url, token);
			// The connection is shared: frames of earlier tests may still be in the pipe.
			await now.stdio.client().caughtUp();
			return now.stdio.client();
		},
		async restart(signal = "SIGKILL") {
			now.process.child.kill(signal);
			await now.process.exited;
			now = await start();
		},
		async stop() {
			const { child, exited } = now.process;
			child.kill("SIGTERM");
			// A second one means at once, whatever the tests have left running.
			const impatience = setTimeout(() => child.kill("SIGTERM"), 2_000);
			await exited;
			clearTimeout(impatience);
			await loop.close();
		},
	};
}

/** A session with an id that nobody else uses. */
export async function openSession(client: WireClient, sessionId = fresh("s")): Promise<string> {
	const answer = await client.ask({ type: "create_session", sessionId });
	if (!answer.success) throw new Error(`no session: ${answer.error}`);
	return sessionId;
}

/** Something long that holds a session's lane, until `release`. */
export interface Held {
	readonly id: string;
	/** The command that holds the lane. */
	readonly command: object;
	/** Lets the command end well, and resolves with its response. */
	release(): Promise<Answer>;
}

/** Holds the lane of a session with a command of an extension that waits for the user's answer. */
export async function holdLane(client: WireClient, sessionId: string): Promise<Held> {
	const id = fresh("held");
	const command = { type: "prompt", id, sessionId, message: "/ask confirm" };
	const known = new Set(dialogsOf(client, sessionId));
	client.send(command);
	const requestId = await dialogOf(client, sessionId, (found) => !known.has(found));
	return {
		id,
		command,
		async release() {
			const response = { confirmed: true };
			client.send({ type: "extension_ui_response", sessionId, requestId, response });
			return client.response(id);
		},
	};
}

/** The id of the first dialog that waits for a yes or no. */
export async function dialogOf(
	client: WireClient,
	sessionId: string,
	fits: (requestId: string) => boolean = () => true,
): Promise<string> {
	let found = "";
	await client.next((frame) => {
		if (frame.type !== "event" || frame.sessionId !== sessionId) return false;
		const { event } = frame;
		if (event.type !== "extension_ui_request" || event.method !== "confirm") return false;
		found = event.requestId;
		return fits(found);
	});
	return found;
}

function dialogsOf({ frames }: WireClient, sessionId: string): string[] {
	return frames.flatMap((frame) => {
		if (frame.type !== "event" || frame.sessionId !== sessionId) return [];
		return frame.event.type === "extension_ui_request" ? [frame.event.requestId] : [];
	});
}

function agentFolder(url: string): string {
	const agentDir = tempDir("agent");
	const settings = {
		defaultProvider: "loop",
		defaultModel: "claude-loop",
		retry: { enabled: false },
		compaction: { enabled: false },
	};
	writeFileSync(join(agentDir, "models.json"), modelsJson(url));
	writeFileSync(join(agentDir, "settings.json"), JSON.stringify(settings));
	mkdirSync(join(agentDir, "extensions"));
	writeFileSync(join(agentDir, "extensions", "asks.ts"), askingExtension);
	writeFileSync(join(agentDir, "extensions", "later.ts"), laterExtension);
	return agentDir;
}

/**
 * `/later <ms> <name>` names the session after a while, whatever has become of the command meanwhile. `/until <path>`
 * ends when there is such a file.
 */
const laterExtension = `
import { existsSync } from "node:fs";

export default function (pi) {
	pi.registerCommand("until", {
		description: "waits for a file",
		handler: async (args) => {
			while (!existsSync(args.trim())) await new Promise((resolve) => setTimeout(resolve, 10));
		},
	});
	pi.registerCommand("later", {
		description: "names the session later",
		handler: async (args) => {
			const [ms, name] = args.trim().split(" ");
			await new Promise((resolve) => setTimeout(resolve, Number(ms)));
			pi.setSessionName(name);
		},
	});
}
`;

/**
 * The model does what the last prompt says: `say <text>`, `hang` (begins to answer and never ends), `ponder` (calls the
 * tool that asks the user), `tokens <n>` (an answer of so many deltas). Whatever else it is told, it counts to ten.
 */
function replyTo(body: LoopbackBody): LoopbackReply {
	const last = body.messages.at(-1);
	const blocks = Array.isArray(last?.content)
		? (last.content as unknown as { type: string; text?: string }[])
		: [{ type: "text", text: String(last?.content) }];
	if (blocks.some(({ type }) => type === "tool_result")) return "thank you";
	const text = blocks.findLast(({ text = "" }) => WORDS.test(text))?.text ?? "";
	const [, word, rest = ""] = WORDS.exec(text) ?? [];
	switch (word) {
		case "say":
			return rest;
		case "hang":
			return { content: [{ type: "text", text: "well, well, well" }], hang: true };
		case "ponder":
			return { content: [{ type: "tool_use", id: fresh("call"), name: "ponder", input: {} }] };
		case "tokens":
			// The provider sends a block in three pieces.
			return texts(Array.from({ length: Math.ceil(Number(rest) / 3) }, () => "four".repeat(3)));
		default:
			return texts(COUNT.split(/(?<= )/));
	}
}

function texts(all: string[]): LoopbackReply {
	return { content: all.map((text) => ({ type: "text", text })) };
}

/** What the model says to a prompt that is not for it. */
export const COUNT = "one two three four five six seven eight nine ten";

const WORDS = /^(say|hang|ponder|tokens)\b ?(.*)$/s;
