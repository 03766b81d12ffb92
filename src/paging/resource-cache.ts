import { ABORTED } from "../core/aborted.ts";
import { Waiters } from "../core/waiters.ts";
import { PagingError } from "./errors.ts";

interface ResourceCacheOptions<T> {
	/** Time to live of a value, counted from its last use. */
	readonly ttlMs: number;
	readonly maxEntries: number;
	/** Maximum total in units of `sizeOf`. One larger value is kept in addition, until the next larger one. */
	readonly maxBytes: number;
	/** Called after each use: a resource may grow as more of it is extracted. */
	sizeOf(value: T): number;
	/** Called once per evicted value, after its last use. Must not throw. */
	dispose?(value: T): void;
	now?(): number;
}

/** `previous` is the expired value, which the loader may return if it is still valid. */
export type Loader<T> = (context: {
	readonly previous: T | undefined;
	/** Aborts when the last waiting caller has left. */
	readonly signal: AbortSignal;
}) => Promise<T>;

export interface CacheLookup<T> {
	readonly key: string;
	readonly load: Loader<T>;
	/** Ends this caller's wait; the load continues for others. */
	readonly signal?: AbortSignal | undefined;
	/** Treats a fresh value as expired. Default: false. */
	readonly revalidate?: boolean;
	/** Counts the TTL from the load, not the last use. Otherwise a popular resource would never reload. */
	readonly sinceLoad?: boolean;
	/** The caller joins a load in flight only if it loads the same version. */
	readonly version?: string | undefined;
}

/**
 * An in-memory LRU cache of loaded resources. It sets no timers: expired values stay until the limits evict
 * them, so that loaders can revalidate them.
 */
export class ResourceCache<T> {
	readonly #options: ResourceCacheOptions<T>;
	readonly #now: () => number;
	/** Least recently used first. */
	readonly #entries = new Map<string, Entry<T>>();
	readonly #inFlight = new Map<string, LoadInFlight<T>>();
	/** The only value larger than `maxBytes`. It is not counted in `#bytes`. */
	#oversized: Entry<T> | undefined;
	#bytes = 0;

	constructor(options: ResourceCacheOptions<T>) {
		this.#options = options;
		this.#now = options.now ?? Date.now;
	}

	/**
	 * Calls `work` with the value, which is valid only until `work` ends. Concurrent uses of a key share one
	 * load. A failed load rejects all its callers and evicts the expired value.
	 */
	async use<R>(lookup: CacheLookup<T>, work: (value: T) => R | Promise<R>): Promise<R> {
		if (lookup.signal?.aborted) throw aborted(lookup.signal);
		const entry = this.#acquireFresh(lookup) ?? (await this.#acquireLoaded(lookup));
		try {
			return await work(entry.value);
		} finally {
			this.#release(entry);
		}
	}

	/** Loads in flight still serve their callers, but their values are not cached. */
	clear(): void {
		this.#inFlight.clear();
		for (const entry of this.#entries.values()) this.#evict(entry);
	}

	stats() {
		return { entries: this.#entries.size, bytes: this.#bytes, loading: this.#inFlight.size };
	}

	#acquireFresh({ key, revalidate, sinceLoad }: CacheLookup<T>): Entry<T> | undefined {
		const entry = this.#entries.get(key);
		if (!entry || revalidate) return undefined;
		const expiresAt = sinceLoad ? entry.loadedAt + this.#options.ttlMs : entry.expiresAt;
		if (this.#now() >= expiresAt) return undefined;
		entry.users++;
		this.#store(entry);
		return entry;
	}

	/** Joins or starts the load. The returned entry already counts this caller as a user. */
	#acquireLoaded({ key, load, signal, version }: CacheLookup<T>): Promise<Entry<T>> {
		const current = this.#inFlight.get(key);
		const joined = current?.version === version ? current : undefined;
		const flight = joined ?? { waiters: new Waiters<Entry<T>>(aborted), version };
		const entry = flight.waiters.join(signal);
		if (!joined) {
			this.#inFlight.set(key, flight);
			// A later caller must not join an aborted load.
			flight.waiters.signal.addEventListener("abort", () => this.#finish(key, flight));
			void this.#load(key, flight, load);
		}
		return entry;
	}

	/** Counts as a user of the previous and the loaded value, until the waiting callers are counted. */
	async #load(key: string, flight: LoadInFlight<T>, load: Loader<T>): Promise<void> {
		const { signal } = flight.waiters;
		const previous = this.#entries.get(key);
		if (previous) previous.users++;
		try {
			const value = await load({ previous: previous?.value, signal });
			// This load is the only user of a new entry.
			const fresh = { key, value, bytes: 0, users: 1, expiresAt: 0, loadedAt: 0 };
			const entry: Entry<T> = previous && previous.value === value ? previous : fresh;
			entry.loadedAt = this.#now();
			if (this.#finish(key, flight)) this.#store(entry);
			entry.users += flight.waiters.size;
			flight.waiters.resolve(entry);
			if (entry !== previous) this.#release(entry);
		} catch (error) {
			const wasCurrent = this.#finish(key, flight);
			if (wasCurrent && previous && this.#isStored(previous)) this.#evict(previous);
			flight.waiters.reject(error);
		} finally {
			if (previous) this.#release(previous);
		}
	}

	/** Returns false if the load is no longer current: no callers left, cache cleared, or replaced. */
	#finish(key: string, flight: LoadInFlight<T>): boolean {
		return this.#inFlight.get(key) === flight && this.#inFlight.delete(key);
	}

	#isStored(entry: Entry<T>): boolean {
		return this.#entries.get(entry.key) === entry;
	}

	#store(entry: Entry<T>): void {
		const other = this.#entries.get(entry.key);
		if (other && other !== entry) this.#evict(other);
		this.#entries.delete(entry.key);
		this.#entries.set(entry.key, entry);
		entry.expiresAt = this.#now() + this.#options.ttlMs;
		this.#enforceLimits(entry);
	}

	/** Measures the entry again, then evicts until the limits hold. */
	#enforceLimits(entry: Entry<T>): void {
		const { maxEntries, maxBytes } = this.#options;
		const size = this.#options.sizeOf(entry.value);
		const fits = size <= maxBytes;
		// A value too large by itself is not counted; otherwise it would evict all the others.
		const counted = fits ? size : 0;
		this.#bytes += counted - entry.bytes;
		entry.bytes = counted;
		if (fits && this.#oversized === entry) this.#oversized = undefined;
		if (!fits && this.#oversized !== entry) {
			if (this.#oversized) this.#evict(this.#oversized);
			this.#oversized = entry;
		}
		for (const oldest of this.#entries.values()) {
			if (this.#entries.size <= maxEntries && this.#bytes <= maxBytes) break;
			this.#evict(oldest);
		}
	}

	#evict(entry: Entry<T>): void {
		this.#entries.delete(entry.key);
		if (this.#oversized === entry) this.#oversized = undefined;
		this.#bytes -= entry.bytes;
		entry.bytes = 0;
		if (entry.users === 0) this.#options.dispose?.(entry.value);
	}

	#release(entry: Entry<T>): void {
		entry.users--;
		if (this.#isStored(entry)) this.#enforceLimits(entry);
		else if (entry.users === 0) this.#options.dispose?.(entry.value);
	}
}

type Entry<T> = {
	readonly key: string;
	readonly value: T;
	/** 0 if the entry is not stored, or is larger than `maxBytes`. */
	bytes: number;
	/** Number of calls and loads that need the value. An evicted value is disposed of at 0. */
	users: number;
	expiresAt: number;
	/** When the value was loaded or last revalidated. */
	loadedAt: number;
};

type LoadInFlight<T> = {
	readonly waiters: Waiters<Entry<T>>;
	readonly version: string | undefined;
};

function aborted(signal: AbortSignal): PagingError {
	return new PagingError("aborted", ABORTED, { cause: signal.reason });
}
