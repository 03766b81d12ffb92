import { tempDir } from "../../support/temp.ts";
import { type ServeProcess, startServe } from "../support/serve-process.ts";

/** A server that is killed and comes back under the same address, on the same data folder. */
export interface MortalServer {
	readonly url: string;
	readonly agentDir: string;
	/** How often it was killed. */
	readonly deaths: number;
	/** The signal that nothing can prepare for. Resolves when the process is gone. */
	kill(): Promise<void>;
	/** Starts the next process, without waiting until it answers. */
	revive(): void;
	/** Resolves when the process of this moment answers commands. */
	ready(): Promise<void>;
	/** What all its processes have complained about. */
	complaints(): string;
}

export async function startMortalServer(
	agentDir = tempDir("strata-agent-"),
): Promise<MortalServer> {
	const lives: ServeProcess[] = [];
	let port = 0;
	let deaths = 0;
	const begin = () => {
		const words = ["--port", String(port), "--auth", "none", "--json"];
		lives.push(startServe(words, { agentDir }));
	};
	const last = () => lives.at(-1) as ServeProcess;
	begin();
	port = (await last().ready()).port ?? 0;
	return {
		url: `ws://127.0.0.1:${port}`,
		agentDir,
		get deaths() {
			return deaths;
		},
		async kill() {
			deaths++;
			last().child.kill("SIGKILL");
			await last().exited;
		},
		revive: begin,
		async ready() {
			await last().ready();
		},
		complaints: () => lives.map((life) => life.err()).join(""),
	};
}
