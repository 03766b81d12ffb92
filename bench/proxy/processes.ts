import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** A server in a process of its own. */
export interface Served {
	/** Address below which the provider's paths are. */
	readonly url: string;
	stop(): Promise<void>;
}

export interface ProxyFigures {
	readonly rssBytes: number;
	/** The longest time that the event loop was held since the last question. */
	readonly heldMs: number;
}

export interface ServedProxy extends Served {
	figures(): Promise<ProxyFigures>;
}

export async function startProvider(): Promise<Served> {
	const { port, stop } = await start("./provider-process.ts", []);
	return { url: `http://127.0.0.1:${port}`, stop };
}

export async function startBenchProxy(
	upstream: string,
	maxBodyBytes: number,
	savingsFolder?: string,
): Promise<ServedProxy> {
	const words = [upstream, String(maxBodyBytes), ...(savingsFolder ? [savingsFolder] : [])];
	const { child, port, stop } = await start("./proxy-process.ts", words);
	return {
		url: `http://127.0.0.1:${port}/bench`,
		stop,
		async figures() {
			const answer = once(child, "message");
			child.send("figures");
			return (await answer)[0] as ProxyFigures;
		},
	};
}

async function start(file: string, args: string[]) {
	const child: ChildProcess = fork(fileURLToPath(new URL(file, import.meta.url)), args);
	const [port] = (await once(child, "message")) as [number];
	const stop = async () => {
		const gone = once(child, "exit");
		child.disconnect();
		await gone;
	};
	return { child, port, stop };
}
