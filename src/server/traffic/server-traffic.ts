import { workerEntry } from "../../core/worker-entry.ts";
import { thread } from "../../core/worker-port.ts";
import { type WorkerError, WorkerSupervisor } from "../../core/worker-supervisor.ts";
import { type Call, CommandError, type Handlers } from "../engine/call.ts";
import { type Client, Message } from "../engine/message.ts";
import { FairQueue } from "../replay/fair-queue.ts";
import type { TrafficJob, TrafficReads } from "./traffic-worker.ts";

const DEFAULT_CONVERSATIONS = 100;
const DEFAULT_REQUESTS = 500;
const POLL_MS = 500;
/** Maximum number of events of one poll. */
const MAX_NEWS = 50;
/** One read at a time; principals take turns. */
const LIMITS = { running: 1, runningPerPrincipal: 1, waiting: 256, waitingPerPrincipal: 32 };
const MAX_HEAP_MB = 512;
const IDLE_MS = 30_000;

/** The book of traffic for clients. It is read in a thread, since a large one takes a while. */
export class ServerTraffic {
	readonly #supervisor: WorkerSupervisor<TrafficJob, unknown>;
	readonly #queue = new FairQueue(LIMITS, "read");
	readonly #pollMs: number;
	readonly #subscribers = new Set<Client>();
	#timer: NodeJS.Timeout | undefined;
	/** Resolves when the worker knows from which request on it reports. */
	#started: Promise<unknown> = Promise.resolve();

	constructor(agentDir: string, { pollMs = POLL_MS } = {}) {
		const entry = workerEntry("./traffic-worker", import.meta.url);
		this.#pollMs = pollMs;
		this.#supervisor = new WorkerSupervisor({
			start: () =>
				thread(entry, {
					workerData: agentDir,
					resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
				}),
			idleMs: IDLE_MS,
			onAbort: "signal",
		});
	}

	readonly handlers = {
		list_conversations: async (call) => {
			const { limit = DEFAULT_CONVERSATIONS } = call.command;
			return { data: await this.#readInTurn(call, "list", { limit }) };
		},
		get_conversation: async (call) => {
			const { conversation, limit = DEFAULT_REQUESTS } = call.command;
			const data = await this.#readInTurn(call, "report", { conversation, limit });
			if (data) return { data };
			throw new CommandError("not_found", `There is no conversation ${conversation}`);
		},
	} satisfies Partial<Handlers>;

	/** Requests that are booked after this resolves are reported; later reads have all others. Never rejects. */
	async subscribe(client: Client): Promise<void> {
		if (client.gone) return;
		this.#subscribers.add(client);
		if (!this.#timer) {
			this.#started = this.#read("start", {}).catch(() => {}); // `list_conversations` reports the fault
			this.#schedule();
		}
		await this.#started;
	}

	unsubscribe(client: Client): void {
		this.#subscribers.delete(client);
		if (this.#subscribers.size === 0) this.#stop();
	}

	async close(): Promise<void> {
		this.#subscribers.clear();
		this.#stop();
		await this.#supervisor.close();
	}

	#stop(): void {
		clearTimeout(this.#timer);
		this.#timer = undefined;
	}

	#schedule(): void {
		this.#timer = setTimeout(() => void this.#poll(), this.#pollMs).unref();
	}

	async #poll(): Promise<void> {
		const timer = this.#timer;
		const news = await this.#read("news", { limit: MAX_NEWS }).catch(() => []);
		for (const data of news) {
			const message = new Message({ type: "request_billed", data });
			for (const client of this.#subscribers) client.send(message);
		}
		if (this.#timer === timer) this.#schedule();
	}

	#readInTurn<Read extends keyof TrafficReads>(
		{ principal, signal }: Pick<Call, "principal" | "signal">,
		read: Read,
		job: TrafficReads[Read]["job"],
	): Promise<TrafficReads[Read]["answer"]> {
		return this.#queue.run(principal, signal, () => this.#read(read, job, signal));
	}

	async #read<Read extends keyof TrafficReads>(
		read: Read,
		job: TrafficReads[Read]["job"],
		signal?: AbortSignal,
	): Promise<TrafficReads[Read]["answer"]> {
		try {
			const asked = { read, ...job } as TrafficJob;
			return (await this.#supervisor.run(asked, { signal })) as TrafficReads[Read]["answer"];
		} catch (error) {
			const why = (error as WorkerError).message;
			throw new CommandError("failed", `the book of traffic cannot be read: ${why}`);
		}
	}
}
