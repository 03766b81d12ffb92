import { ABORTED } from "../core/aborted.ts";
import { Waiters } from "../core/waiters.ts";
import { PagingError } from "./errors.ts";

/** What is kept, how much and how long. */
export interface ResourceCacheOptions<T> {
	/** How long a value counts as fresh after its last use. */
	readonly ttlMs: number;
	readonly maxEntries: number;
	/**
	 * In the units of `sizeOf`. One value that is larger by itself is kept beside it, until the next such: loading it
	 * again for every use would cost more.
	 */
	readonly maxBytes: number;
	/** Measured again after each use, since a resource may grow as more of it is extracted. */
	sizeOf(value: T): number;
	/** Called once for every value that has left the cache, when its last use is over. It must not throw. */
	dispose?(value: T): void;
	now?(): number;
}

/** Gets a value. `previous` is the outdated one, if there is any, which may be returned if it still holds. */
export type Loader<T> = (context: {
	readonly previous: T | undefined;
	/** Fires when nobody waits for the value any more. */
	readonly signal: AbortSignal;
}) => Promise<T>;

/** One wish for a resource. */
export interface ResourceRequest<T> {
	readonly key: string;
	readonly load: Loader<T>;
	/** Ends the waiting of this caller; the load goes on while others wait for it. */
	readonly signal?: AbortSignal | undefined;
	/** Treats a fresh value as outdated, for resources that are cheap to check. Default: false. */
	readonly revalidate?: boolean;
	/** Counts the time from the load, not from the last use: else what is asked for often enough is never loaded again. */
	readonly sinceLoad?: boolean;
	/** What the caller saw of the resource. A load that was begun for another version is not joined. */
	readonly version?: string | undefined;
}

/** Loaded resources, kept in memory for a while: the least recently used go first. */
export interface ResourceCache<T> {
	/**
	 * Does something with a value, kept or loaded; it is not disposed of before `work` is done, and must not be used
	 * afterwards. Simultaneous uses of one key load once. A load that fails rejects all who wait for it, and the
	 * outdated value goes.
	 */
	use<R>(request: ResourceRequest<T>, work: (value: T) => R | Promise<R>): Promise<R>;
	/** Lets go of everything. Loads under way still serve those who wait, and are not kept. */
	clear(): void;
	stats(): ResourceCacheStats;
}

/** The state of a cache, and what it was good for: uses without a load against loads. */
export interface ResourceCacheStats {
	readonly entries: number;
	readonly bytes: number;
	readonly loading: number;
	readonly hits: number;
	readonly loads: number;
}

/** Makes an empty cache. It sets no timers: what has expired stays, to be revalidated, until the limits push it out. */
export function createResourceCache<T>(options: ResourceCacheOptions<T>): ResourceCache<T> {
	const { ttlMs, maxEntries, maxBytes, now = Date.now } = options;
	/** Least recently used first. */
	const entries = new Map<string, Entry<T>>();
	const flights = new Map<string, Flight<T>>();
	/** The one entry that is too large to be counted. */
	let oversized: Entry<T> | undefined;
	let bytes = 0;
	let hits = 0;
	let loads = 0;

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
		hits++;
		entry.users++;
		keep(entry);
		return entry;
	}

	/** Joins the load of this key, or begins it. The entry that comes is already counted as used by this caller. */
	function waitFor({ key, load, signal, version }: ResourceRequest<T>): Promise<Entry<T>> {
		const current = flights.get(key);
		const running = current?.version === version ? current : undefined;
		const flight = running ?? { waiters: new Waiters<Entry<T>>(aborted), version };
		const entry = flight.waiters.join(signal);
		if (!running) {
			flights.set(key, flight);
			// Whoever comes next must not join a load that was told to stop.
			flight.waiters.signal.addEventListener("abort", () => land(key, flight));
			void fly(key, flight, load);
		}
		return entry;
	}

	/** Runs a load to its end. It holds what it was given and what it got until those who wait have taken over. */
	async function fly(key: string, flight: Flight<T>, load: Loader<T>): Promise<void> {
		loads++;
		const { signal } = flight.waiters;
		const previous = entries.get(key);
		if (previous) previous.users++;
		try {
			const value = await load({ previous: previous?.value, signal });
			const entry = previous && previous.value === value ? previous : newEntry(key, value);
			entry.loadedAt = now();
			if (land(key, flight)) keep(entry);
			entry.users += flight.waiters.size;
			flight.waiters.resolve(entry);
			if (entry !== previous) release(entry);
		} catch (error) {
			if (land(key, flight) && previous?.kept) drop(previous);
			flight.waiters.reject(error);
		} finally {
			if (previous) release(previous);
		}
	}

	/** Ends a load; false if it was given up meanwhile (everyone left, or the cache was cleared). */
	function land(key: string, flight: Flight<T>): boolean {
		return flights.get(key) === flight && flights.delete(key);
	}

	/** Makes an entry the most recently used of its key, in place of any other. */
	function keep(entry: Entry<T>): void {
		const other = entries.get(entry.key);
		if (other && other !== entry) drop(other);
		entries.delete(entry.key);
		entries.set(entry.key, entry);
		entry.kept = true;
		entry.expiresAt = now() + ttlMs;
		weigh(entry);
	}

	function weigh(entry: Entry<T>): void {
		const size = options.sizeOf(entry.value);
		const fits = size <= maxBytes;
		// Alone too large: no reason to push out all the others.
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

	/** Only for what is kept. */
	function drop(entry: Entry<T>): void {
		entries.delete(entry.key);
		entry.kept = false;
		if (oversized === entry) oversized = undefined;
		bytes -= entry.bytes;
		entry.bytes = 0;
		if (entry.users === 0) options.dispose?.(entry.value);
	}

	function release(entry: Entry<T>): void {
		entry.users--;
		if (entry.kept) weigh(entry);
		else if (entry.users === 0) options.dispose?.(entry.value);
	}

	return {
		use,
		clear() {
			flights.clear();
			for (const entry of entries.values()) drop(entry);
		},
		stats: () => ({ entries: entries.size, bytes, loading: flights.size, hits, loads }),
	};
}

type Entry<T> = {
	readonly key: string;
	readonly value: T;
	/** Counted in the total while the entry is kept and fits, otherwise 0. */
	bytes: number;
	/** Calls and loads that need the value. It is disposed of when it is neither used nor kept. */
	users: number;
	kept: boolean;
	expiresAt: number;
	/** When it was loaded, or last found to be still the same. */
	loadedAt: number;
};

type Flight<T> = {
	readonly waiters: Waiters<Entry<T>>;
	readonly version: string | undefined;
};

/** An entry nobody has yet but the load that made it. */
function newEntry<T>(key: string, value: T): Entry<T> {
	return { key, value, bytes: 0, users: 1, kept: false, expiresAt: 0, loadedAt: 0 };
}

function aborted(signal: AbortSignal): PagingError {
	return new PagingError("aborted", ABORTED, { cause: signal.reason });
}
