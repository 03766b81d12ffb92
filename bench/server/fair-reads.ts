import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient } from "../../src/protocol/client.ts";
import { sessionLines } from "../../test/browser/session-lines.ts";
import { sized } from "../support.ts";
import { createFolder, startStrata } from "./processes.ts";

/** What another principal met while one kept its reads in flight. */
export interface FairReads {
	/** How long each read of the other took, in milliseconds. */
	delays: number[];
	/** The flood's answers and megabytes per second. */
	answersPerSecond: number;
	megabytesPerSecond: number;
	/** Its connections that the server closed. */
	cutOff: number;
}

export interface FairReadsOptions {
	/** What is asked for. */
	command: "get_messages" | "get_tree";
	connections: number;
	depth: number;
	/** Characters of the session's messages. */
	characters: number;
	/** Reads of the other principal, one after the other. */
	reads: number;
}

/** What the flood's process needs to know, and what it tells. */
export interface FloodTask extends Pick<FairReadsOptions, "command" | "connections" | "depth"> {
	port: number;
	token: string;
}
export type FloodTold =
	| { kind: "begun" }
	| { kind: "ended"; answers: number; bytes: number; cutOff: number; ms: number };

const FLOOD = fileURLToPath(new URL("./read-flood-process.ts", import.meta.url));
const TOKENS = { flood: "flood-token-0123456789", other: "other-token-0123456789" };
const MESSAGE_CHARACTERS = 2_000;

/** Floods a server of its own from a process of its own, and reads beside it as another principal. */
export async function fairReads(options: FairReadsOptions): Promise<FairReads> {
	const folder = createFolder();
	const sessionPath = writeSession(folder, options.characters);
	const server = await startStrata(folder, { tokens: TOKENS });
	const url = `ws://127.0.0.1:${server.port}`;
	const owner = createClient({ url, token: TOKENS.flood });
	await owner.request("load_session", { sessionPath, sessionId: "s" });
	const other = createClient({ url, token: TOKENS.other });
	await other.request("create_session", { sessionId: "mine", cwd: folder });

	const flood = fork(FLOOD);
	const { command, connections, depth } = options;
	const task: FloodTask = { command, connections, depth, port: server.port, token: TOKENS.flood };
	flood.send(task);
	await once(flood, "message"); // it has its first answers
	const delays: number[] = [];
	for (let read = 0; read < options.reads; read++) {
		const begun = performance.now();
		await other.request("get_state", { sessionId: "mine" });
		delays.push(performance.now() - begun);
		await new Promise((resolve) => setTimeout(resolve, 5));
	}
	flood.send("stop");
	const [told] = (await once(flood, "message")) as [FloodTold];
	await once(flood, "exit");
	owner.close();
	other.close();
	await server.stop();
	if (told.kind !== "ended") throw new Error("the flood told nothing");
	return {
		delays,
		answersPerSecond: (told.answers / told.ms) * 1000,
		megabytesPerSecond: told.bytes / told.ms / 1000,
		cutOff: told.cutOff,
	};
}

function writeSession(folder: string, characters: number): string {
	const sessions = join(folder, "agent", "sessions", "bench");
	mkdirSync(sessions, { recursive: true });
	const count = Math.max(2, Math.round(characters / MESSAGE_CHARACTERS));
	const text = "What was said, and what came of it. ".repeat(MESSAGE_CHARACTERS / 36);
	const said = Array.from({ length: count }, (_, at) => ({
		role: at % 2 === 0 ? ("user" as const) : ("assistant" as const),
		text: `${at}: ${text}`,
	}));
	const header = {
		type: "session",
		version: 3,
		id: "bench-session",
		timestamp: new Date(0).toISOString(),
		cwd: folder,
	};
	const path = join(sessions, "bench.jsonl");
	const lines = [header, ...sessionLines(said)].map((line) => `${JSON.stringify(line)}\n`);
	writeFileSync(path, lines.join(""));
	return path;
}

/** The sizes of the claim, or those of a quick run. */
export const FLOOD_SIZE = {
	connections: sized(39, 3),
	depth: sized(128, 16),
	characters: sized(1_500_000, 20_000),
	reads: sized(300, 10),
};
