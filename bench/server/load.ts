import { connectLean, isResponse, type LeanClient } from "./lean-client.ts";

export interface LoadOptions {
	port: number;
	clients: number;
	/** Commands of one client in flight at a time. */
	depth: number;
	/** The text of a command. `number` is unique. */
	command(number: number): string;
	/** Sent first, once by each client. */
	greeting?: string;
	/** Which messages count as answers. Default: responses. */
	isAnswer?(bytes: Buffer, start: number): boolean;
}

/** Clients that keep a server busy. */
export class Load {
	/** Every load has its own range of ids: a server answers a known id from its journal. */
	static #count = 0;
	readonly #options: LoadOptions;
	readonly #clients: LeanClient[] = [];
	/** While pacing: per client, when its commands in flight were due. */
	readonly #due: readonly number[][];
	#delays: number[] | undefined;
	#lastNumber = ++Load.#count * 1e9;
	#answers = 0;
	#isRunning = false;
	#inFlight = 0;
	#onIdle: (() => void) | undefined;

	private constructor(options: LoadOptions) {
		this.#options = options;
		this.#due = Array.from({ length: options.clients }, () => []);
	}

	static async open(options: LoadOptions): Promise<Load> {
		const load = new Load(options);
		for (let index = 0; index < options.clients; index++) await load.#connect(index);
		if (options.greeting !== undefined) await load.#greet(options.greeting);
		return load;
	}

	/** Keeps `depth` commands per client in flight for `ms`. Returns answers per second. */
	async run(ms: number): Promise<number> {
		const { clients, depth } = this.#options;
		this.#isRunning = true;
		this.#answers = 0;
		const begun = performance.now();
		for (let index = 0; index < clients; index++) this.#send(index, depth);
		await new Promise((resolve) => setTimeout(resolve, ms));
		const perSecond = (this.#answers / (performance.now() - begun)) * 1000;
		this.#isRunning = false;
		await this.#idle();
		return perSecond;
	}

	/** Sends commands at even intervals for `ms`. Returns the delay of each answer from the time its command was due. */
	async pace(perSecond: number, ms: number): Promise<number[]> {
		const { clients } = this.#options;
		const delays: number[] = [];
		this.#delays = delays;
		const begun = performance.now();
		const total = Math.round((perSecond * ms) / 1000);
		for (let sent = 0; sent < total; ) {
			const now = performance.now();
			for (; sent < total; sent++) {
				const dueAt = begun + (sent * 1000) / perSecond;
				if (dueAt > now) break;
				this.#due[sent % clients]?.push(dueAt);
				this.#send(sent % clients, 1);
			}
			await new Promise((resolve) => setTimeout(resolve, 1));
		}
		await this.#idle();
		this.#delays = undefined;
		return delays;
	}

	close(): void {
		for (const client of this.#clients) client.close();
	}

	async #connect(index: number): Promise<void> {
		const { port, isAnswer = isResponse } = this.#options;
		let received = 0;
		const client = await connectLean(port, {
			onMessage(bytes, start) {
				if (isAnswer(bytes, start)) received++;
			},
			onBatch: () => {
				const answers = received;
				received = 0;
				if (answers > 0) this.#onAnswers(index, answers);
			},
		});
		this.#clients.push(client);
	}

	async #greet(greeting: string): Promise<void> {
		this.#inFlight += this.#clients.length;
		for (const client of this.#clients) client.send([greeting]);
		await this.#idle();
	}

	#onAnswers(index: number, count: number): void {
		this.#answers += count;
		this.#inFlight -= count;
		const now = performance.now();
		const due = this.#due[index];
		for (let i = 0; i < count && this.#delays; i++) this.#delays.push(now - (due?.shift() ?? now));
		if (this.#isRunning) this.#send(index, count);
		else if (this.#inFlight === 0) this.#onIdle?.();
	}

	#send(index: number, count: number): void {
		this.#inFlight += count;
		const texts: string[] = [];
		for (let i = 0; i < count; i++) texts.push(this.#options.command(++this.#lastNumber));
		this.#clients[index]?.send(texts);
	}

	#idle(): Promise<void> {
		if (this.#inFlight === 0) return Promise.resolve();
		return new Promise((resolve) => {
			this.#onIdle = resolve;
		});
	}
}
