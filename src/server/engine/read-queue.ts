export interface ReadQueueOptions<Item> {
	tenantOf(item: Item): object;
	/** The lines of a principal take turns; each is FIFO. */
	lineOf(item: Item): object;
	/** A line without room for its output is skipped. */
	hasRoom(item: Item): boolean;
	whenRoom(item: Item): Promise<void>;
	/** May continue in microtasks. */
	work(item: Item): void;
	clock(): number;
	/** Calls back in the same turn of the event loop, after all microtasks. */
	afterWork?(next: () => void): void;
	/** Calls back in the next turn of the event loop, after socket I/O. */
	nextTurn?(next: () => void): void;
}

/** Budget per turn of the event loop: no read begins beyond either. */
export const SLICE_MS = 4;
export const SLICE_BYTES = 4 * 2 ** 20;

interface Line<Item> {
	readonly key: object;
	readonly tenant: object;
	readonly items: Item[];
}

/**
 * Runs one slice of reads per turn of the event loop, round-robin over principals and their
 * connections: a thousand reads of one client delay another by one slice.
 */
export class ReadQueue<Item> {
	readonly #options: ReadQueueOptions<Item>;
	readonly #afterWork: (next: () => void) => void;
	readonly #nextTurn: (next: () => void) => void;
	/** Each has items, and is ready or waits for room. */
	readonly #lines = new Map<object, Line<Item>>();
	/** By principal; the next to run is first in both. */
	readonly #ready = new Map<object, Line<Item>[]>();
	#atWork: Item | undefined;
	#begunMs = 0;
	#usedMs = 0;
	#usedBytes = 0;
	#isTurnDue = false;

	constructor(options: ReadQueueOptions<Item>) {
		this.#options = options;
		this.#afterWork = options.afterWork ?? afterMicrotasks;
		this.#nextTurn = options.nextTurn ?? setImmediate;
	}

	/** May run the item before it returns. */
	add(item: Item): void {
		const key = this.#options.lineOf(item);
		const known = this.#lines.get(key);
		if (known === undefined) {
			const line = { key, tenant: this.#options.tenantOf(item), items: [item] };
			this.#lines.set(key, line);
			this.#makeReady(line);
		} else known.items.push(item);
		this.#go();
	}

	/** Charges output bytes to the slice of this turn. */
	spend(bytes: number): void {
		this.#usedBytes += bytes;
	}

	/** The current item, until its microtasks have run. */
	get atWork(): Item | undefined {
		return this.#atWork;
	}

	#makeReady(line: Line<Item>): void {
		const lines = this.#ready.get(line.tenant);
		if (lines === undefined) this.#ready.set(line.tenant, [line]);
		else lines.push(line);
	}

	#go(): void {
		if (this.#atWork !== undefined || this.#ready.size === 0) return;
		this.#scheduleTurn();
		if (this.#usedMs >= SLICE_MS || this.#usedBytes >= SLICE_BYTES) return;
		const item = this.#next();
		if (item === undefined) return;
		this.#atWork = item;
		this.#begunMs = this.#options.clock();
		try {
			this.#options.work(item);
		} finally {
			this.#afterWork(this.#worked);
		}
	}

	readonly #worked = (): void => {
		this.#usedMs += this.#options.clock() - this.#begunMs;
		this.#atWork = undefined;
		this.#go();
	};

	#scheduleTurn(): void {
		if (this.#isTurnDue) return;
		this.#isTurnDue = true;
		this.#nextTurn(this.#startTurn);
	}

	readonly #startTurn = (): void => {
		this.#isTurnDue = false;
		this.#usedMs = 0;
		this.#usedBytes = 0;
		this.#go();
	};

	#next(): Item | undefined {
		for (const [tenant, lines] of this.#ready) {
			const item = this.#nextOf(lines);
			// Re-insertion moves the principal to the end of the map.
			this.#ready.delete(tenant);
			if (lines.length > 0) this.#ready.set(tenant, lines);
			if (item !== undefined) return item;
		}
		return undefined;
	}

	#nextOf(lines: Line<Item>[]): Item | undefined {
		for (let line = lines.shift(); line !== undefined; line = lines.shift()) {
			const item = line.items[0] as Item;
			if (!this.#options.hasRoom(item)) {
				this.#readyWithRoom(line, item);
				continue;
			}
			line.items.shift();
			if (line.items.length > 0) lines.push(line);
			else this.#lines.delete(line.key);
			return item;
		}
		return undefined;
	}

	#readyWithRoom(line: Line<Item>, item: Item): void {
		this.#options.whenRoom(item).then(() => {
			this.#makeReady(line);
			// Not immediately: room that flickers must not starve everything else.
			this.#scheduleTurn();
		});
	}
}

/** Ticks run after all microtasks, but a tick queued within a tick would run before them. */
function afterMicrotasks(next: () => void): void {
	// Several times faster than `queueMicrotask`, and runs for every read.
	SETTLED.then(() => process.nextTick(next));
}

const SETTLED = Promise.resolve();
