import { readdirSync } from "node:fs";
import { WebSocket } from "ws";
import { atEnd } from "../../support/temp.ts";
import { type ServeProcess, startServe } from "./serve-process.ts";

/** What a process holds at one moment. */
export interface Holdings {
	/** After a full collection of garbage. */
	heapBytes: number;
	/** The same with buffers and whatever else objects keep outside of the heap. */
	heldBytes: number;
	residentBytes: number;
	/** Open files, sockets and pipes; `undefined` where the system does not tell. */
	handles: number | undefined;
}

/** A server whose memory can be looked at through Node's inspector. */
export interface InspectedServer {
	readonly process: ServeProcess;
	readonly url: string;
	holdings(): Promise<Holdings>;
}

export async function startInspectedServer(
	words: string[],
	given: { agentDir?: string } = {},
): Promise<InspectedServer> {
	const server = startServe(["--port", "0", "--auth", "none", "--json", ...words], {
		...given,
		env: INSPECTABLE,
	});
	const { port } = await server.ready();
	return {
		process: server,
		url: `ws://127.0.0.1:${port}`,
		holdings: await inspect(server),
	};
}

/** The environment of a server that can be inspected. */
export const INSPECTABLE = { NODE_OPTIONS: "--inspect=127.0.0.1:0" };

/** What Node's inspector says on standard error, which is no complaint. */
export function withoutInspector(lines: string): string {
	return lines.replaceAll(/^(?:Debugger |For help, see).*\n/gm, "");
}

/** Opens the inspector of a server that was started as {@link INSPECTABLE}. */
export async function inspect(server: ServeProcess): Promise<() => Promise<Holdings>> {
	const { pid } = await server.ready();
	const address = /Debugger listening on (ws:\S+)/.exec(server.err())?.[1];
	if (address === undefined) throw new Error(`no inspector: ${server.err()}`);
	return async () => {
		// Anew each time: a process whose inspector is in use does not end.
		const { send, close } = await openInspector(address);
		// What finalizers let go of in the first round is garbage in the second.
		await send("HeapProfiler.collectGarbage");
		await send("HeapProfiler.collectGarbage");
		const { result } = await send("Runtime.evaluate", {
			expression: "process.memoryUsage()",
			returnByValue: true,
		});
		const memory = (result as { value: NodeJS.MemoryUsage }).value;
		await close();
		return {
			heapBytes: memory.heapUsed,
			heldBytes: memory.heapUsed + memory.external,
			residentBytes: memory.rss,
			handles: handlesOf(pid),
		};
	};
}

type Send = (method: string, params?: object) => Promise<Record<string, unknown>>;

async function openInspector(address: string): Promise<{ send: Send; close(): Promise<unknown> }> {
	const socket = new WebSocket(address);
	atEnd(() => socket.terminate());
	const waiting = new Map<number, (result: Record<string, unknown>) => void>();
	let last = 0;
	socket.on("message", (data) => {
		const { id, result } = JSON.parse(String(data));
		waiting.get(id)?.(result);
		waiting.delete(id);
	});
	await new Promise((resolve, reject) => {
		socket.once("open", resolve);
		socket.once("error", reject);
	});
	const send: Send = (method, params = {}) =>
		new Promise((resolve) => {
			const id = ++last;
			waiting.set(id, resolve);
			socket.send(JSON.stringify({ id, method, params }));
		});
	const close = () => {
		socket.close();
		return new Promise((resolve) => socket.once("close", resolve));
	};
	return { send, close };
}

function handlesOf(pid: number): number | undefined {
	try {
		return readdirSync(`/proc/${pid}/fd`).length;
	} catch {
		return undefined; // not a system with /proc
	}
}
