import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient } from "../../src/protocol/client.ts";
import { FLOOD_TOKENS, writeFloodSession } from "../../test/server/support/flood-session.ts";
import { sized } from "../support.ts";
import { createFolder, startStrata } from "./processes.ts";

/** Reads of one principal while another floods the server. */
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
	/** The read that floods the server. */
	command: "get_messages" | "get_tree";
	connections: number;
	depth: number;
	/** Characters of the session's messages. */
	characters: number;
	/** Reads of the other principal, one after the other. */
	reads: number;
}

/** The input of the flood's process, and its reports. */
export interface FloodTask extends Pick<FairReadsOptions, "command" | "connections" | "depth"> {
	port: number;
	token: string;
}
export type FloodReport =
	| { kind: "begun" }
	| { kind: "ended"; answers: number; bytes: number; cutOff: number; ms: number };

const FLOOD = fileURLToPath(new URL("./read-flood-process.ts", import.meta.url));

/** Floods a server of its own from a process of its own, and reads at the same time as another principal. */
export async function fairReads(options: FairReadsOptions): Promise<FairReads> {
	const folder = createFolder();
	const sessionPath = writeFloodSession(join(folder, "agent"), folder, options.characters);
	const server = await startStrata(folder, { tokens: FLOOD_TOKENS });
	const url = `ws://127.0.0.1:${server.port}`;
	const owner = createClient({ url, token: FLOOD_TOKENS.flood });
	await owner.request("load_session", { sessionPath, sessionId: "s" });
	const other = createClient({ url, token: FLOOD_TOKENS.other });
	await other.request("create_session", { sessionId: "mine", cwd: folder });

	const flood = fork(FLOOD);
	const { command, connections, depth } = options;
	const task: FloodTask = {
		command,
		connections,
		depth,
		port: server.port,
		token: FLOOD_TOKENS.flood,
	};
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
	const [report] = (await once(flood, "message")) as [FloodReport];
	await once(flood, "exit");
	owner.close();
	other.close();
	await server.stop();
	if (report.kind !== "ended") throw new Error("the flood did not report its end");
	return {
		delays,
		answersPerSecond: (report.answers / report.ms) * 1000,
		megabytesPerSecond: report.bytes / report.ms / 1000,
		cutOff: report.cutOff,
	};
}

/** The sizes of the claim, or those of a quick run. */
export const FLOOD_SIZE = {
	connections: sized(39, 3),
	depth: sized(128, 16),
	characters: sized(1_500_000, 20_000),
	reads: sized(300, 10),
};
