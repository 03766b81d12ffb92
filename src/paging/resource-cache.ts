import { ABORTED } from "../core/aborted.ts";
import { Waiters } from "../core/waiters.ts";
import { PagingError } from "./errors.ts";

export interface ResourceCacheOptions<T> {
	/** Counted from the last use. */
	readonly ttlMs: number;
	readonly maxEntries: number;
	/** In the units of `sizeOf`. One larger value is kept in addition, until the next such one. */
	readonly maxBytes: number;
	/** Called after each use: a resource may grow as more of it is extracted. */
	sizeOf(value: T): number;
	/** Called once per evicted value, after its last use. Must not throw. */
	dispose?(value: T): void;
	now?(): number;
}

/** `previous` is the expired value, which may be returned if it still holds. */
export type Loader<T> = (context: {
	readonly previous: T | undefined;
	/** Aborts when no caller waits any more. */
	readonly signal: AbortSignal;
}) => Promise<T>;

export interface ResourceRequest<T> {
	readonly key: string;
	readonly load: Loader<T>;
	/** Ends this caller's wait; the load continues for others. */
	readonly signal?: AbortSignal | undefined;
	/** Treats a fresh value as expired. Default: false. */
	readonly revalidate?: boolean;
	/** Expires from the load, not the last use: else a popular resource is never reloaded. */
	readonly sinceLoad?: boolean;
	/** A load in flight for another version is not joined. */
	readonly version?: string | undefined;
}

/**
 * An in-memory LRU cache of loaded resources. Sets no timers: expired values stay, to be
 * revalidated, until the limits evict them.
 */
export function createResourceCache<T>(options: ResourceCacheOptions<T>) {
	const { ttlMs, maxEntries, maxBytes, now = Date.now } = options;
	/** Least recently used first. */
	const entries = new Map<string, Entry<T>>();
	const flights = new Map<string, Flight<T>>();
	/** The one value above `maxBytes`, not counted. */
	let oversized: Entry<T> | undefined;
	let bytes = 0;

	/**
	 * The value is valid only until `work` ends. Concurrent uses of a key share one load. A failed
	 * load rejects all its callers and drops the expired value.
	 */
	async function use<R>(
		request: ResourceRequest<T>,
		work: (value: T) => R | Promise<R>,
	): Promise<R> {
		if (request.signal?.aborted) throw aborted(request.signal);
		const entry = takeFresh(request) ?? (await waitFor(request));
		try {
			return await work(entry.value);
		} finally {
			release(entry);
		}
	}

	function takeFresh(request: ResourceRequest<T>): Entry<T> | undefined {
		const { key, revalidate = false, sinceLoad = false } = request;
		const entry = entries.get(key);
		if (!entry || revalidate) return undefined;
		if (now() >= (sinceLoad ? entry.loadedAt + ttlMs : entry.expiresAt)) return undefined;
		entry.users++;
		keep(entry);
		return entry;
	}

	/** Joins or starts the load. The returned entry already counts this caller as a user. */
	function waitFor({ key, load, signal, version }: ResourceRequest<T>): Promise<Entry<T>> {
		const current = flights.get(key);
		const running = current?.version === version ? current : undefined;
		const flight = running ?? { waiters: new Waiters<Entry<T>>(aborted), version };
		const entry = flight.waiters.join(signal);
		if (!running) {
			flights.set(key, flight);
			// A later caller must not join an aborted load.
			flight.waiters.signal.addEventListener("abort", () => land(key, flight));
			void fly(key, flight, load);
		}
		return entry;
	}

	/** Holds the previous and the loaded value until the waiting callers have taken over. */
	async function fly(key: string, flight: Flight<T>, load: Loader<T>): Promise<void> {
		const { signal } = flight.waiters;
		const previous = entries.get(key);
		if (previous) previous.users++;
		try {
			const value = await load({ previous: previous?.value, signal });
			// The only user of a new entry is this load.
			const fresh = { key, value, bytes: 0, users: 1, expiresAt: 0, loadedAt: 0 };
			const entry: Entry<T> = previous && previous.value === value ? previous : fresh;
			entry.loadedAt = now();
			if (land(key, flight)) keep(entry);
			entry.users += flight.waiters.size;
			flight.waiters.resolve(entry);
			if (entry !== previous) release(entry);
		} catch (error) {
			if (land(key, flight) && previous && isKept(previous)) drop(previous);
			flight.waiters.reject(error);
		} finally {
			if (previous) release(previous);
		}
	}

	/** False if the load was abandoned meanwhile (no callers left, or cache cleared). */
	function land(key: string, flight: Flight<T>): boolean {
		return flights.get(key) === flight && flights.delete(key);
	}

	function isKept(entry: Entry<T>): boolean {
		return entries.get(entry.key) === entry;
	}

	function keep(entry: Entry<T>): void {
		const other = entries.get(entry.key);
		if (other && other !== entry) drop(other);
		entries.delete(entry.key);
		entries.set(entry.key, entry);
		entry.expiresAt = now() + ttlMs;
		weigh(entry);
	}

	function weigh(entry: Entry<T>): void {
		const size = options.sizeOf(entry.value);
		const fits = size <= maxBytes;
		// Too large alone: no reason to evict all the others.
		const counted = fits ? size : 0;
		bytes += counted - entry.bytes;
		entry.bytes = counted;
		if (fits && oversized === entry) oversized = undefined;
		if (!fits && oversized !== entry) {
			if (oversized) drop(oversized);
			oversized = entry;
		}
		for (const oldest of entries.values()) {
			if (entries.size <= maxEntries && bytes <= maxBytes) break;
			drop(oldest);
		}
	}

	function drop(entry: Entry<T>): void {
		entries.delete(entry.key);
		if (oversized === entry) oversized = undefined;
		bytes -= entry.bytes;
		entry.bytes = 0;
		if (entry.users === 0) options.dispose?.(entry.value);
	}

	function release(entry: Entry<T>): void {
		entry.users--;
		if (isKept(entry)) weigh(entry);
		else if (entry.users === 0) options.dispose?.(entry.value);
	}

	return {
		use,
		/** Loads in flight still serve their callers, uncached. */
		clear(): void {
			flights.clear();
			for (const entry of entries.values()) drop(entry);
		},
		stats: () => ({ entries: entries.size, bytes, loading: flights.size }),
	};
}

type Entry<T> = {
	readonly key: string;
	readonly value: T;
	/** 0 unless the entry is kept and fits. */
	bytes: number;
	/** Calls and loads that need the value. It is disposed of at 0 once evicted. */
	users: number;
	expiresAt: number;
	/** Or last revalidated. */
	loadedAt: number;
};

type Flight<T> = {
	readonly waiters: Waiters<Entry<T>>;
	readonly version: string | undefined;
};

function aborted(signal: AbortSignal): PagingError {
	return new PagingError("aborted", ABORTED, { cause: signal.reason });
}
