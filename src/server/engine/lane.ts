export interface Place<Item> {
	readonly item: Item;
	readonly lane: Lane<Item>;
	readonly number: number;
	/** Control commands, such as `abort`, do not wait for a slow command. */
	readonly isSlow: boolean;
	isFinished: boolean;
}

/** The commands of one session, or of the server, in order. One at a time has the turn. */
export class Lane<Item> {
	readonly #giveTurn: (item: Item) => void;
	readonly #onEmpty: () => void;
	/** A place stays here until its outcome is sent, possibly after the next command has started. */
	readonly #places: Place<Item>[] = [];
	/** Number of finished places at the front. Saves a search: thousands may wait for the disk. */
	#finished = 0;
	/** The place that has the turn. If `undefined`, all places that had the turn are finished. */
	#holder: Place<Item> | undefined;
	#isGivingTurns = false;
	#isEnded = false;
	#lastNumber = 0;
	/** All places up to this number are finished. */
	#finishedNumber = 0;
	/** Waiting control commands. Each waits until all places up to its number are finished. */
	readonly #controls: Pick<Place<Item>, "item" | "number">[] = [];

	/** `join` may call `giveTurn` before it returns. After `onEmpty`, do not use the lane again. */
	constructor(options: { giveTurn: (item: Item) => void; onEmpty: () => void }) {
		this.#giveTurn = options.giveTurn;
		this.#onEmpty = options.onEmpty;
	}

	/** Calls `placed` with the new place before the item can get the turn. */
	join(item: Item, isSlow: boolean, placed: (place: Place<Item>) => void): void {
		const number = ++this.#lastNumber;
		const place = { item, lane: this, number, isSlow, isFinished: false };
		this.#places.push(place);
		placed(place);
		this.#advance();
	}

	// A control command waits for earlier short commands, but not for those behind a slow one: `abort`
	// must reach a running command however long the queue is.
	joinControl(item: Item): void {
		const slow = this.#firstSlow();
		const number = slow === undefined ? this.#lastNumber : slow.number - 1;
		// `number` never decreases from call to call, so `#controls` stays sorted.
		if (number <= this.#finishedNumber) this.#giveTurn(item);
		else this.#controls.push({ item, number });
	}

	isBehindSlow(place: Place<Item>): boolean {
		return (this.#firstSlow()?.number ?? place.number) < place.number;
	}

	/** If the handler is still running (`isWorking`), the place keeps the turn until {@link release}. */
	finished(place: Place<Item>, isWorking: boolean): void {
		place.isFinished = true;
		if (this.#holder !== place) return;
		if (isWorking) {
			this.#finishedNumber = place.number;
			this.#releaseControls();
		} else this.release(place);
	}

	release(place: Place<Item>): void {
		if (this.#holder !== place) return;
		this.#holder = undefined;
		this.#advance();
	}

	isFirst(place: Place<Item>): boolean {
		return this.#places[0] === place;
	}

	/** Call when the outcome is sent. Returns the new first item if `place` was first. */
	leave(place: Place<Item>): Item | undefined {
		const at = this.#places.indexOf(place);
		this.#places.splice(at, 1);
		if (at < this.#finished) this.#finished -= 1;
		if (at > 0) return undefined;
		this.#endIfEmpty();
		return this.#places[0]?.item;
	}

	/** A loop instead of recursion, because a thousand queued commands may fail at once. */
	#advance(): void {
		if (this.#isGivingTurns) return;
		this.#isGivingTurns = true;
		while (this.#holder === undefined) {
			while (this.#places[this.#finished]?.isFinished) this.#finished += 1;
			const place = this.#places[this.#finished];
			if (place === undefined) break;
			this.#holder = place;
			this.#finishedNumber = place.number - 1;
			this.#releaseControls();
			this.#giveTurn(place.item);
		}
		this.#isGivingTurns = false;
		if (this.#holder !== undefined) return;
		this.#finishedNumber = this.#lastNumber;
		this.#releaseControls();
		this.#endIfEmpty();
	}

	#endIfEmpty(): void {
		if (this.#places.length > 0 || this.#holder !== undefined || this.#isEnded) return;
		this.#isEnded = true;
		this.#onEmpty();
	}

	#releaseControls(): void {
		for (let next = this.#controls[0]; next !== undefined; next = this.#controls[0]) {
			if (next.number > this.#finishedNumber) return;
			this.#controls.shift();
			this.#giveTurn(next.item);
		}
	}

	#firstSlow(): Place<Item> | undefined {
		return this.#places.find(({ isSlow, isFinished }) => isSlow && !isFinished);
	}
}
