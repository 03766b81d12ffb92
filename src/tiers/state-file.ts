import { lstat, opendir, rm } from "node:fs/promises";
import { join } from "node:path";
import { isTemporaryName, writeFileAtomic } from "../core/atomic-file.ts";
import { describeError, errnoOf } from "../core/errno.ts";
import { hashBytes } from "../core/hash.ts";
import { isRecord, property } from "../core/property.ts";
import { chooseEvicted, type Evictable } from "../core/retention.ts";
import { openStoreFolder, type StoreFolder } from "../core/store-version.ts";
import { TIERS, type Tier, type TrackedItem } from "./item.ts";
import { readJsonObject } from "./litellm-config.ts";

/** The state that the specification defines, plus the tokens of each item. */
export interface TierState {
	readonly response_count: number;
	readonly last_active_items: readonly string[];
	readonly items: Readonly<Record<string, ItemState>>;
	/** Keys of `items` by first appearance; only set if the object's key order differs. */
	readonly order?: readonly string[];
}

/** Other programs store no `tokens`. The count is then 0 until the next request. */
interface ItemState {
	readonly content_hash: string;
	readonly n_value: number;
	readonly tier: Tier;
	readonly tokens?: number;
}

export class TierStateError extends Error {
	override readonly name = "TierStateError";
}

interface TrackedState {
	readonly responseCount: number;
	readonly items: Map<string, TrackedItem>;
}

export function stateOf({ responseCount, items }: TrackedState): TierState {
	const keys = [...items.keys()];
	const stored = Object.fromEntries(
		Array.from(items, ([key, { tier, n, hash, tokens }]): [string, ItemState] => [
			key,
			{ content_hash: hash, n_value: n, tier, tokens },
		]),
	);
	// JavaScript objects list numeric keys first, and entry ids may be numeric.
	const isOrdered = Object.keys(stored).every((key, index) => key === keys[index]);
	return {
		response_count: responseCount,
		last_active_items: keys.filter((key) => items.get(key)?.tier === "active"),
		items: stored,
		...(isOrdered ? {} : { order: keys }),
	};
}

/** Throws a TierStateError. Clamps N to the tier's range, since some programs count every request. */
export function parseTierState(state: unknown): TrackedState {
	const count = property(state, "response_count");
	if (!isWhole(count)) throw damaged("response_count must be a whole number ≥ 0");
	keyList(property(state, "last_active_items"), "last_active_items");

	const stored = property(state, "items");
	if (!isRecord(stored)) throw damaged("items must be an object");
	const keys = Object.keys(stored);
	if (keys.length > MAX_ITEMS) throw damaged(`items has more than ${MAX_ITEMS} entries`);
	const order = property(state, "order");
	const first = order === undefined ? [] : keyList(order, "order");

	const items = new Map<string, TrackedItem>();
	for (const key of new Set([...first, ...keys])) {
		if (Object.hasOwn(stored, key)) items.set(key, itemOf(key, stored[key]));
	}
	return { responseCount: count, items };
}

/** Maximum number of items, more than in any real session, since the file is untrusted. */
const MAX_ITEMS = 50_000;

function itemOf(key: string, value: unknown): TrackedItem {
	const hash = property(value, "content_hash");
	const n = property(value, "n_value");
	const tier = property(value, "tier");
	const tokens = property(value, "tokens") ?? 0;
	if (key === "") throw damaged("items has an empty key");
	if (typeof hash !== "string") throw damaged("a content_hash must be a string");
	if (!isWhole(n)) throw damaged("an n_value must be a whole number ≥ 0");
	if (!isTier(tier)) throw damaged("a tier must be L0, L1, L2, L3 or active");
	if (typeof tokens !== "number" || !Number.isFinite(tokens) || tokens < 0) {
		throw damaged("tokens must be a number ≥ 0");
	}
	return { tier, n: allowedN(tier, n), hash, tokens };
}

/** N is unbounded in `active`, where items stay while they are listed. */
function allowedN(tier: Tier, n: number): number {
	if (tier === "active") return n;
	const { entryN, promotionN } = TIERS[tier];
	return Math.min(Math.max(n, entryN), promotionN - 1);
}

function keyList(value: unknown, name: string): string[] {
	if (Array.isArray(value) && value.every((key) => typeof key === "string")) return value;
	throw damaged(`${name} must be a list of strings`);
}

function isTier(value: unknown): value is Tier {
	return typeof value === "string" && Object.hasOwn(TIERS, value);
}

function isWhole(value: unknown): value is number {
	return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** Omits the item's key: the key is untrusted, and the message goes to a terminal. */
function damaged(reason: string): TierStateError {
	return new TierStateError(`The tier state is damaged: ${reason}`);
}

export const TIER_STORE = "tiers";

export function tierStateFolder(projectRoot: string): string {
	return join(projectRoot, ".pi", "strata");
}

/** `session`: this session's own state. `import`: the state of another program. */
interface LoadedState {
	readonly origin: "fresh" | "session" | "import";
	readonly state?: TierState;
	readonly warning?: string;
}

/** The tier state of one session, in its own file. Never rejects: after a failed load, tiers are empty. */
export class TierStateFile {
	readonly #projectRoot: string;
	readonly #folder: string;
	readonly #name: string;
	readonly #reported = new Set<string>();
	#stored: string | undefined;
	#saving: Promise<unknown> = Promise.resolve();

	constructor(projectRoot: string, sessionId: string) {
		this.#projectRoot = projectRoot;
		this.#folder = tierStateFolder(projectRoot);
		this.#name = fileName(sessionId);
	}

	/** Loads the session's state, or else `.aicoder/stability.json`. A damaged file only causes a warning. */
	async load(): Promise<LoadedState> {
		const opened = await openExisting(this.#folder);
		if (opened.kind !== "ready" && opened.kind !== "absent") {
			return { origin: "fresh", warning: opened.message };
		}
		const own = await read(join(this.#folder, this.#name), "session");
		const other = join(this.#projectRoot, ...IMPORTED);
		return own ?? (await read(other, "import")) ?? { origin: "fresh" };
	}

	/** Replaces the stored state, in call order. Returns a warning on failure, but the same one only once. */
	save(state: TierState): Promise<string | undefined> {
		const saved = this.#saving.then(async () => {
			try {
				await this.#write(state);
				return undefined;
			} catch (error) {
				const warning = `The tier state could not be saved: ${describeError(error)}`;
				if (this.#reported.has(warning)) return undefined;
				this.#reported.add(warning);
				return warning;
			}
		});
		this.#saving = saved;
		return saved;
	}

	async #write(state: TierState): Promise<void> {
		const text = `${JSON.stringify(state)}\n`;
		if (text === this.#stored) return;
		if (Buffer.byteLength(text) > MAX_STATE_BYTES) {
			throw new Error(`it has more than ${MAX_STATE_BYTES} bytes`);
		}
		const opened = await openStoreFolder(storeOf(this.#folder));
		if (opened.kind !== "ready") throw new Error(opened.message);
		await writeFileAtomic(join(this.#folder, this.#name), text);
		this.#stored = text;
	}

	/** Evicts old or excess states of other sessions, and deletes temporary files that crashes left. */
	async sweep(): Promise<void> {
		try {
			if ((await openExisting(this.#folder)).kind !== "ready") return;
			const { states, temporary } = await filesIn(this.#folder, this.#name);
			const nowMs = Date.now();
			const left = temporary.filter(({ usedMs }) => nowMs - usedMs > TEMPORARY_AGE_MS);
			const limits = { maxBytes: MAX_STATES, maxAgeMs: MAX_AGE_MS, nowMs };
			for (const file of [...left, ...chooseEvicted(states, limits)]) {
				await rm(file.path, { force: true });
			}
		} catch {
			// Leftovers are harmless; the next session sweeps again.
		}
	}
}

const IMPORTED = [".aicoder", "stability.json"];
const MAX_STATE_BYTES = 16 * 1024 * 1024;
const MAX_STATES = 200;
const MAX_AGE_MS = 30 * 24 * 60 * 60 * 1000;
/** No write takes this long: an older temporary file is orphaned. */
const TEMPORARY_AGE_MS = 60 * 60_000;

const STATE_NAME = /^session-[A-Za-z0-9][A-Za-z0-9._-]*\.json$/;

/** Hashes an id that is not a plain file name, since ids are untrusted. */
function fileName(sessionId: string): string {
	const isPlain = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(sessionId);
	return `session-${isPlain ? sessionId : hashBytes(sessionId)}.json`;
}

function storeOf(folder: string) {
	return { folder, name: TIER_STORE, version: 1, owns: (entry: string) => STATE_NAME.test(entry) };
}

async function openExisting(folder: string): Promise<StoreFolder | { kind: "absent" }> {
	try {
		await lstat(folder);
	} catch (error) {
		const isAbsent = errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR";
		if (isAbsent) return { kind: "absent" };
	}
	return await openStoreFolder(storeOf(folder));
}

async function read(path: string, origin: "session" | "import"): Promise<LoadedState | undefined> {
	const stored = await readJsonObject(path, MAX_STATE_BYTES);
	if (stored === undefined) return undefined;
	const unused = (why: string) => ({
		origin: "fresh" as const,
		warning: `${path} ${why}; the tiers start empty`,
	});
	if (typeof stored === "string") return unused(stored);
	try {
		return { origin, state: stateOf(parseTierState(stored)) };
	} catch (error) {
		return unused(`cannot be used (${describeError(error)})`);
	}
}

type StateEntry = Evictable & { readonly path: string };

/** Counts each file as 1 byte, so that the number of files is bounded, not their size. */
async function filesIn(folder: string, own: string) {
	const states: StateEntry[] = [];
	const temporary: StateEntry[] = [];
	for await (const { name } of await opendir(folder)) {
		if (name === own || !(STATE_NAME.test(name) || isTemporaryName(name))) continue;
		const path = join(folder, name);
		const stats = await lstat(path).catch(() => undefined);
		if (!stats?.isFile()) continue;
		const list = isTemporaryName(name) ? temporary : states;
		list.push({ path, bytes: 1, usedMs: stats.mtimeMs });
	}
	return { states, temporary };
}
