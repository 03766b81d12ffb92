import { connectLean, isResponse, type LeanClient } from "./lean-client.ts";

/** Clients that keep a server busy. */
export interface Load {
	/** Runs for so long and returns answers per second. */
	run(ms: number): Promise<number>;
	/** Sends `perSecond` commands at even intervals for so long; returns how long each took from the time it was due. */
	pace(perSecond: number, ms: number): Promise<number[]>;
	close(): void;
}

export interface LoadOptions {
	port: number;
	clients: number;
	/** Commands of one client that are under way at a time. */
	depth: number;
	/** The text of a command. `number` is another each time. */
	command(number: number): string;
	/** Sent first, and once for each client. */
	greeting?: string;
	/** Which messages count as answers. Default: responses. */
	isAnswer?(bytes: Buffer, start: number): boolean;
}

/** Every load has numbers of its own: an id that a server knows is answered by replay. */
let loads = 0;

export async function createLoad(options: LoadOptions): Promise<Load> {
	const { port, clients: count, depth, command, greeting, isAnswer = isResponse } = options;
	let last = ++loads * 1e9;
	let answers = 0;
	let isRunning = false;
	/** Commands under way, in all. */
	let open = 0;
	let onIdle: (() => void) | undefined;
	/** By client, when the commands were due that have no answer yet; while pacing. */
	const due: number[][] = Array.from({ length: count }, () => []);
	let delays: number[] | undefined;

	const clients: LeanClient[] = [];
	for (let index = 0; index < count; index++) {
		let heard = 0;
		clients.push(
			await connectLean(port, {
				onMessage(bytes, start) {
					if (isAnswer(bytes, start)) heard++;
				},
				onBatch() {
					const done = heard;
					heard = 0;
					if (done > 0) answered(index, done);
				},
			}),
		);
	}
	if (greeting !== undefined) {
		open += count;
		for (const client of clients) client.send([greeting]);
		await idle();
	}

	function answered(index: number, done: number): void {
		answers += done;
		open -= done;
		const now = performance.now();
		for (let i = 0; i < done && delays; i++) delays.push(now - (due[index]?.shift() ?? now));
		if (isRunning) send(index, done);
		else if (open === 0) onIdle?.();
	}

	function send(index: number, commands: number): void {
		open += commands;
		const texts: string[] = [];
		for (let i = 0; i < commands; i++) texts.push(command(++last));
		clients[index]?.send(texts);
	}

	function idle(): Promise<void> {
		if (open === 0) return Promise.resolve();
		return new Promise((resolve) => {
			onIdle = resolve;
		});
	}

	return {
		async run(ms) {
			isRunning = true;
			answers = 0;
			const begun = performance.now();
			for (let index = 0; index < count; index++) send(index, depth);
			await new Promise((resolve) => setTimeout(resolve, ms));
			const perSecond = (answers / (performance.now() - begun)) * 1000;
			isRunning = false;
			await idle();
			return perSecond;
		},
		async pace(perSecond, ms) {
			delays = [];
			const begun = performance.now();
			const total = Math.round((perSecond * ms) / 1000);
			for (let sent = 0; sent < total; ) {
				const now = performance.now();
				for (; sent < total; sent++) {
					const dueAt = begun + (sent * 1000) / perSecond;
					if (dueAt > now) break;
					due[sent % count]?.push(dueAt);
					send(sent % count, 1);
				}
				await new Promise((resolve) => setTimeout(resolve, 1));
			}
			await idle();
			const taken = delays;
			delays = undefined;
			return taken;
		},
		close() {
			for (const client of clients) client.close();
		},
	};
}
