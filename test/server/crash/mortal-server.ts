import { once } from "node:events";
import { createServer } from "node:net";
import { databaseWords } from "../../support/postgres.ts";
import { tempDir } from "../../support/temp.ts";
import { type ServeProcess, startServe } from "../support/serve-process.ts";

/** A server that is killed and comes back under the same address, on the same data folder. */
export interface MortalServer {
	readonly url: string;
	readonly agentDir: string;
	/** How often it was killed. */
	readonly deaths: number;
	/** How long its last whole start took, in milliseconds. */
	readonly startMs: number;
	/** The signal that nothing can prepare for. Resolves when the process is gone: whether it was this that ended it. */
	kill(): Promise<boolean>;
	/** Asks the process of this moment to end in order. */
	stop(): void;
	/** Resolves when the process of this moment is gone. */
	ended(): Promise<void>;
	/** Starts the next process, without waiting until it answers. */
	revive(): void;
	/** Resolves when the process of this moment answers commands. */
	ready(): Promise<void>;
	/** Rejects when a process ends by itself, or badly though it was asked to. */
	readonly suicide: Promise<never>;
	/** What all its processes have complained about. */
	complaints(): string;
}

export async function startMortalServer(agentDir = tempDir("agent")): Promise<MortalServer> {
	const port = await quietPort();
	const database = await databaseWords();
	const lives: ServeProcess[] = [];
	const asked = new Set<ServeProcess>();
	const suicide = Promise.withResolvers<never>();
	suicide.promise.catch(() => {}); // whoever waits for it hears of it
	let deaths = 0;
	let startMs = 0;
	const begin = () => {
		const from = performance.now();
		const words = ["--port", String(port), "--auth", "none", "--json", ...database];
		const life = startServe(words, { agentDir });
		lives.push(life);
		life.ready().then(
			() => {
				startMs = performance.now() - from;
			},
			() => {}, // `suicide` tells
		);
		void life.exited.then(({ code, signal }) => {
			if (signal === "SIGKILL" || (asked.has(life) && code === 0)) return;
			suicide.reject(new Error(`the server ended with ${code ?? signal}: ${life.err()}`));
		});
	};
	const last = () => lives.at(-1) as ServeProcess;
	begin();
	await last().ready();
	return {
		url: `ws://127.0.0.1:${port}`,
		agentDir,
		get deaths() {
			return deaths;
		},
		get startMs() {
			return startMs;
		},
		async kill() {
			last().child.kill("SIGKILL");
			const { signal } = await last().exited;
			if (signal === "SIGKILL") deaths++;
			return signal === "SIGKILL";
		},
		stop() {
			asked.add(last());
			last().child.kill("SIGTERM");
		},
		async ended() {
			await last().exited;
		},
		revive: begin,
		async ready() {
			await last().ready();
		},
		suicide: suicide.promise,
		complaints: () => lives.map((life) => life.err()).join(""),
	};
}

/**
 * A free port that the system does not hand out by itself: while the server is dead, one that it does could go to
 * somebody else, or to a client that then connects to itself.
 */
async function quietPort(): Promise<number> {
	for (;;) {
		const port = 15_000 + Math.floor(Math.random() * 15_000);
		const probe = createServer();
		const listening = once(probe, "listening").then(
			() => true,
			() => false, // taken
		);
		probe.listen(port, "127.0.0.1");
		const isFree = await listening;
		probe.close();
		if (isFree) return port;
	}
}
