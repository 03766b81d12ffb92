/** What a {@link ReadQueue} needs to know of its items, and of the event loop. */
export interface ReadQueueOptions<Item> {
	/** Principals take turns. */
	tenantOf(item: Item): object;
	/** The lines of a principal take turns; each is first in, first out. */
	lineOf(item: Item): object;
	/** Whether there is room for the item's output. A line without room is passed over. */
	hasRoom(item: Item): boolean;
	/** Resolves when there may be room again. */
	whenRoom(item: Item): Promise<void>;
	/** Does an item's work. It may go on in microtasks. */
	work(item: Item): void;
	/** Monotonic, in milliseconds. */
	clock(): number;
	/** Calls back in the same turn of the event loop, when all microtasks have run. */
	afterWork?(next: () => void): void;
	/** Calls back in the next turn of the event loop, after sockets were read and written. */
	nextTurn?(next: () => void): void;
}

/** In one turn of the event loop, reads begin until they took so many milliseconds or produced so many bytes. */
export const SLICE_MS = 4;
export const SLICE_BYTES = 4 * 2 ** 20;

interface Line<Item> {
	readonly key: object;
	readonly tenant: object;
	readonly items: Item[];
	/** Among the ready lines of its principal. */
	isReady: boolean;
	/** Waits for room. */
	isBlocked: boolean;
}

/**
 * The reads that are ready to run. Each turn of the event loop does a slice of them, round-robin over principals and over
 * the connections of each: a thousand reads of one client delay the read of another by one slice. An item that comes
 * while the slice of this turn is unused runs at once.
 */
export class ReadQueue<Item> {
	readonly #options: ReadQueueOptions<Item>;
	readonly #afterWork: (next: () => void) => void;
	readonly #nextTurn: (next: () => void) => void;
	/** Lines that are not empty, by `lineOf`. */
	readonly #lines = new Map<object, Line<Item>>();
	/** Ready lines by principal, the next first in both. */
	readonly #ready = new Map<object, Line<Item>[]>();
	#atWork: Item | undefined;
	#begunMs = 0;
	/** What is used of the slice of this turn. */
	#usedMs = 0;
	#usedBytes = 0;
	#isTurnDue = false;

	constructor(options: ReadQueueOptions<Item>) {
		this.#options = options;
		this.#afterWork = options.afterWork ?? afterMicrotasks;
		this.#nextTurn = options.nextTurn ?? setImmediate;
	}

	/** Puts an item at the end of its line. It may run before this returns. */
	add(item: Item): void {
		const key = this.#options.lineOf(item);
		let line = this.#lines.get(key);
		if (line === undefined) {
			const tenant = this.#options.tenantOf(item);
			line = { key, tenant, items: [], isReady: false, isBlocked: false };
			this.#lines.set(key, line);
		}
		line.items.push(item);
		if (!line.isReady && !line.isBlocked) this.#makeReady(line);
		this.#go();
	}

	/** The work of this turn has produced so many bytes of output. */
	spend(bytes: number): void {
		this.#usedBytes += bytes;
	}

	/** The item whose turn it is, until its microtasks have run. */
	get atWork(): Item | undefined {
		return this.#atWork;
	}

	#makeReady(line: Line<Item>): void {
		line.isReady = true;
		const lines = this.#ready.get(line.tenant);
		if (lines === undefined) this.#ready.set(line.tenant, [line]);
		else lines.push(line);
	}

	/** Begins the next item, unless one is at work or the slice is used up. */
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
			// Deleted and set again, the principal is the last of the map.
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
				this.#block(line, item);
				continue;
			}
			line.items.shift();
			if (line.items.length > 0) lines.push(line);
			else this.#lines.delete(line.key);
			return item;
		}
		return undefined;
	}

	#block(line: Line<Item>, item: Item): void {
		line.isReady = false;
		line.isBlocked = true;
		this.#options.whenRoom(item).then(() => {
			line.isBlocked = false;
			this.#makeReady(line);
			// Not at once: where room is found and lost again at once, everything else still gets its turn.
			this.#scheduleTurn();
		});
	}
}

/** Ticks run when no microtask is left; one that is asked for in a tick would run before them. */
function afterMicrotasks(next: () => void): void {
	// Once for each read, and several times quicker than `queueMicrotask`.
	SETTLED.then(() => process.nextTick(next));
}

const SETTLED = Promise.resolve();
