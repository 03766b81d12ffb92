import { realpathSync } from "node:fs";
import { FolderWatch } from "./folder-watch.ts";
import { lookAtRules, type RuleFiles, rulesStillHold } from "./rule-files.ts";
import { type Listing, type ScanOptions, scanAndList, scanListed, scanTree } from "./scan-tree.ts";
import type { ScannedTree } from "./scanned-tree.ts";

/** What was listed, and all that must not have changed for it to hold. */
interface Memory {
	/** The real path of the root. */
	readonly root: string;
	readonly listing: Listing;
	readonly folders: FolderWatch;
	readonly rules: RuleFiles;
	readonly listedMs: number;
}

/** So long a list is believed at most: there are file systems that do not keep the times of folders. */
const maxAgeMs = 10 * 60_000;

/**
 * Scans one project again and again. The list of its files is made anew, by git, only when a folder, a `.gitignore`
 * or git's own files tell that it may be another one; otherwise it is enough to look at the files of the list.
 */
export class TreeScanner {
	readonly #root: string;
	readonly #now: () => number;
	#memory: Memory | undefined;
	#hasScanned = false;
	/** Since when git is known to be slow with what it does not track (ms since 1970). */
	#slowSinceMs = Number.NEGATIVE_INFINITY;

	constructor(root: string, { now = Date.now }: { now?: () => number } = {}) {
		this.#root = root;
		this.#now = now;
	}

	/** As `scanTree`. */
	async scan(options: ScanOptions = {}): Promise<ScannedTree> {
		// Often the first time is the only one, and remembering would be in vain.
		if (!this.#hasScanned) {
			const tree = await scanTree(this.#root, options);
			this.#hasScanned = true;
			this.#noteSlowness(tree);
			return tree;
		}
		const isSlow = Math.abs(this.#now() - this.#slowSinceMs) <= maxAgeMs;
		const quick = isSlow ? { ...options, othersMs: 0 } : options;
		return (await this.#scanAsRemembered(options)) ?? (await this.#scanAnew(quick));
	}

	async #scanAsRemembered(options: ScanOptions): Promise<ScannedTree | undefined> {
		const memory = this.#memory;
		if (!memory || Math.abs(this.#now() - memory.listedMs) > maxAgeMs) return undefined;
		if (realPath(this.#root) !== memory.root) return undefined;
		if (!rulesStillHold(memory.rules) || !memory.folders.stillHolds()) return undefined;
		return await scanListed(this.#root, memory.listing, options);
	}

	async #scanAnew(options: ScanOptions): Promise<ScannedTree> {
		this.#memory = undefined;
		const listedMs = this.#now();
		const watch = await this.#watch();
		const { tree, listing } = await scanAndList(this.#root, options);
		if (watch && listing) this.#memory = { ...watch, listing, listedMs };
		if (options.othersMs !== 0) this.#noteSlowness(tree);
		return tree;
	}

	/** One question that waits is enough. */
	#noteSlowness({ trouble }: ScannedTree): void {
		if (trouble.some(({ kind }) => kind === "slow")) this.#slowSinceMs = this.#now();
	}

	/** Before the files are listed: what changes meanwhile is then seen the next time. */
	async #watch(): Promise<Pick<Memory, "root" | "folders" | "rules"> | undefined> {
		const root = realPath(this.#root);
		const folders = root === undefined ? undefined : FolderWatch.take(root, this.#now);
		if (root === undefined || !folders) return undefined;
		const rules = await lookAtRules(root, {
			folders: folders.having(".gitignore"),
			repositories: folders.having(".git"),
			now: this.#now,
		});
		return { root, folders, rules };
	}
}

/** Undefined if there is nothing, which the scan will say in better words. */
function realPath(path: string): string | undefined {
	try {
		return realpathSync(path);
	} catch {
		return undefined;
	}
}
