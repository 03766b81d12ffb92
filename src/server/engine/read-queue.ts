/** What a {@link ReadQueue} needs to know of its items, and of the event loop. */
export interface ReadQueueOptions<Item> {
	/** Whose turn an item takes: principals take turns. */
	tenantOf(item: Item): object;
	/** The line an item waits in: the lines of a principal take turns, and each is first in, first out. */
	lineOf(item: Item): object;
	/** Whether there is room for what the item will produce. While there is none, its line is passed over. */
	hasRoom(item: Item): boolean;
	/** Resolves when there may be room again. */
	whenRoom(item: Item): Promise<void>;
	/** Does an item's work. It may go on in microtasks. */
	work(item: Item): void;
	/** Milliseconds that never go back. */
	clock(): number;
	/** Calls back in the same turn of the event loop, when all microtasks have run. */
	afterWork?(next: () => void): void;
	/** Calls back in the next turn of the event loop, after sockets were read and written. */
	nextTurn?(next: () => void): void;
}

/** In one turn of the event loop, reads begin until they took so many milliseconds or produced so many bytes. */
export const SLICE_MS = 4;
export const SLICE_BYTES = 4 * 2 ** 20;

/**
 * The reads that are ready to run. Each turn of the event loop does a slice of them, one principal after the other and of
 * each one connection after the other, so that a thousand reads of one client delay the read of another by one slice.
 * What comes while the slice of this turn is unused runs at once.
 */
export class ReadQueue<Item> {
	readonly #options: ReadQueueOptions<Item>;
	readonly #afterWork: (next: () => void) => void;
	readonly #nextTurn: (next: () => void) => void;
	/** Lines with something in them, by what `lineOf` calls them; also those that wait for room. */
	readonly #lines = new Map<object, Line<Item>>();
	/** Principals with a line that is ready, the next first; and the same by principal. */
	readonly #ready: Ring<Item>[] = [];
	readonly #rings = new Map<object, Ring<Item>>();
	#atWork: Item | undefined;
	#begunMs = 0;
	/** What is used of the slice of this turn. */
	#usedMs = 0;
	#usedBytes = 0;
	#turnIsDue = false;

	constructor(options: ReadQueueOptions<Item>) {
		this.#options = options;
		this.#afterWork = options.afterWork ?? afterMicrotasks;
		this.#nextTurn = options.nextTurn ?? setImmediate;
	}

	/** Puts an item at the end of its line. It may run before this returns. */
	add(item: Item): void {
		const line = this.#lineOf(item);
		line.items.push(item);
		if (!line.isListed && !line.isWaiting) this.#list(line);
		this.#go();
	}

	/** The work of this turn has produced so many bytes, which will have to be sent. */
	spend(bytes: number): void {
		this.#usedBytes += bytes;
	}

	/** Whether the item is the one that is being worked on, so that what it does now is part of its turn. */
	isAtWork(item: Item): boolean {
		return this.#atWork === item;
	}

	#lineOf(item: Item): Line<Item> {
		const key = this.#options.lineOf(item);
		let line = this.#lines.get(key);
		if (line === undefined) {
			const tenant = this.#options.tenantOf(item);
			line = { key, tenant, items: [], head: 0, isListed: false, isWaiting: false };
			this.#lines.set(key, line);
		}
		return line;
	}

	#list(line: Line<Item>): void {
		line.isListed = true;
		const ring = this.#rings.get(line.tenant);
		if (ring !== undefined) {
			ring.lines.push(line);
			return;
		}
		const started = { tenant: line.tenant, lines: [line] };
		this.#rings.set(line.tenant, started);
		this.#ready.push(started);
	}

	/** Begins the next item, unless one is being worked on or the slice is used up. */
	#go(): void {
		if (this.#atWork !== undefined || this.#ready.length === 0) return;
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
		if (this.#turnIsDue) return;
		this.#turnIsDue = true;
		this.#nextTurn(this.#startTurn);
	}

	readonly #startTurn = (): void => {
		this.#turnIsDue = false;
		this.#usedMs = 0;
		this.#usedBytes = 0;
		this.#go();
	};

	#next(): Item | undefined {
		for (let ring = this.#ready.shift(); ring !== undefined; ring = this.#ready.shift()) {
			const item = this.#nextOf(ring);
			if (ring.lines.length > 0) this.#ready.push(ring);
			else this.#rings.delete(ring.tenant);
			if (item !== undefined) return item;
		}
		return undefined;
	}

	#nextOf({ lines }: Ring<Item>): Item | undefined {
		for (let line = lines.shift(); line !== undefined; line = lines.shift()) {
			const item = line.items[line.head] as Item;
			if (!this.#options.hasRoom(item)) {
				this.#await(line, item);
				continue;
			}
			line.head += 1;
			if (line.head < line.items.length) {
				compact(line);
				lines.push(line);
			} else this.#lines.delete(line.key);
			return item;
		}
		return undefined;
	}

	#await(line: Line<Item>, item: Item): void {
		line.isListed = false;
		line.isWaiting = true;
		this.#options.whenRoom(item).then(() => {
			line.isWaiting = false;
			this.#list(line);
			// Not at once: where room is found and lost again at once, everything else still gets its turn.
			this.#scheduleTurn();
		});
	}
}

interface Line<Item> {
	readonly key: object;
	readonly tenant: object;
	items: Item[];
	/** The first item that has not had its turn. */
	head: number;
	/** It is in the ring of its principal. */
	isListed: boolean;
	/** It waits for room. */
	isWaiting: boolean;
}

/** The lines of a principal that are ready, the next first. */
interface Ring<Item> {
	readonly tenant: object;
	readonly lines: Line<Item>[];
}

function compact(line: Line<unknown>): void {
	if (line.head < 64 || line.head < line.items.length / 2) return;
	line.items = line.items.slice(line.head);
	line.head = 0;
}

/** Ticks run when no microtask is left; one that is asked for in a tick would run before them. */
function afterMicrotasks(next: () => void): void {
	// Once for each read, and several times quicker than `queueMicrotask`.
	SETTLED.then(() => process.nextTick(next));
}

const SETTLED = Promise.resolve();
