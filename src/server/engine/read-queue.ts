import { getOrAdd } from "../../core/get-or-add.ts";

interface ReadQueueOptions<Item> {
	tenantOf(item: Item): object;
	/** The key of the item's queue. The queues of a principal take turns; each is FIFO. */
	queueOf(item: Item): object;
	/** Whether the client has room for output. If not, the item's queue is skipped. */
	hasRoom(item: Item): boolean;
	whenRoom(item: Item): Promise<void>;
	/** The work may continue in microtasks. */
	work(item: Item): void;
	clock(): number;
	/** Calls back in the same turn of the event loop, after all microtasks. */
	afterWork?(next: () => void): void;
	/** Calls back in the next turn of the event loop, after socket I/O. */
	nextTurn?(next: () => void): void;
}

/** Bounds of one slice. No read starts once either is reached, so many reads delay others only briefly. */
export const SLICE_MS = 4;
export const SLICE_BYTES = 4 * 2 ** 20;

interface Queue<Item> {
	readonly key: object;
	readonly tenant: object;
	readonly items: Item[];
}

/** Runs a slice of reads per turn of the event loop, round-robin over principals and queues. */
export class ReadQueue<Item> {
	/** The item that is running. It stays set until its microtasks have run. */
	current: Item | undefined;
	readonly #options: Required<ReadQueueOptions<Item>>;
	/** All queues by key. Each has items, and is either ready or waiting for room. */
	readonly #queues = new Map<object, Queue<Item>>();
	/** Ready queues by principal. The next to run is first, in the map and in each list. */
	readonly #ready = new Map<object, Queue<Item>[]>();
	#begunMs = 0;
	#usedMs = 0;
	#usedBytes = 0;
	#isTurnDue = false;

	constructor(options: ReadQueueOptions<Item>) {
		this.#options = { afterWork: afterMicrotasks, nextTurn: setImmediate, ...options };
	}

	/** May run the item before it returns. */
	add(item: Item): void {
		const key = this.#options.queueOf(item);
		const known = this.#queues.get(key);
		if (known === undefined) {
			const queue = { key, tenant: this.#options.tenantOf(item), items: [item] };
			this.#queues.set(key, queue);
			this.#makeReady(queue);
		} else known.items.push(item);
		this.#runNext();
	}

	/** Counts output bytes toward the current slice. */
	spend(bytes: number): void {
		this.#usedBytes += bytes;
	}

	#makeReady(queue: Queue<Item>): void {
		getOrAdd(this.#ready, queue.tenant, () => []).push(queue);
	}

	#runNext(): void {
		if (this.current !== undefined || this.#ready.size === 0) return;
		this.#scheduleTurn();
		if (this.#usedMs >= SLICE_MS || this.#usedBytes >= SLICE_BYTES) return;
		const item = this.#next();
		if (item === undefined) return;
		this.current = item;
		this.#begunMs = this.#options.clock();
		try {
			this.#options.work(item);
		} finally {
			this.#options.afterWork(this.#afterItem);
		}
	}

	readonly #afterItem = (): void => {
		this.#usedMs += this.#options.clock() - this.#begunMs;
		this.current = undefined;
		this.#runNext();
	};

	#scheduleTurn(): void {
		if (this.#isTurnDue) return;
		this.#isTurnDue = true;
		this.#options.nextTurn(this.#startTurn);
	}

	readonly #startTurn = (): void => {
		this.#isTurnDue = false;
		this.#usedMs = 0;
		this.#usedBytes = 0;
		this.#runNext();
	};

	#next(): Item | undefined {
		for (const [tenant, queues] of this.#ready) {
			const item = this.#nextOf(queues);
			// Re-insertion moves the principal to the end of the map.
			this.#ready.delete(tenant);
			if (queues.length > 0) this.#ready.set(tenant, queues);
			if (item !== undefined) return item;
		}
		return undefined;
	}

	#nextOf(queues: Queue<Item>[]): Item | undefined {
		for (let queue = queues.shift(); queue !== undefined; queue = queues.shift()) {
			const item = queue.items[0] as Item;
			if (!this.#options.hasRoom(item)) {
				this.#makeReadyWithRoom(queue, item);
				continue;
			}
			queue.items.shift();
			if (queue.items.length > 0) queues.push(queue);
			else this.#queues.delete(queue.key);
			return item;
		}
		return undefined;
	}

	#makeReadyWithRoom(queue: Queue<Item>, item: Item): void {
		this.#options.whenRoom(item).then(() => {
			this.#makeReady(queue);
			// The queue runs in the next turn: a client that keeps gaining and losing room must not starve others.
			this.#scheduleTurn();
		});
	}
}

/** Calls `next` after all microtasks: a tick that a microtask queues runs after them. */
function afterMicrotasks(next: () => void): void {
	// `then` is several times faster than `queueMicrotask`, and this runs for every read.
	SETTLED.then(() => process.nextTick(next));
}

const SETTLED = Promise.resolve();
