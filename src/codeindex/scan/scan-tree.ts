import { existsSync, lstatSync, realpathSync, type Stats, statSync } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import { setImmediate } from "node:timers/promises";
import { compareText } from "../../core/compare-text.ts";
import { describeError } from "../../core/errno.ts";
import { haveSameTimes, timesOf } from "../../core/file-times.ts";
import { below, folderOf, type PathKind } from "../../core/project-path.ts";
import { CodeIndexError } from "../code-index.ts";
import { pathKind } from "../languages.ts";
import { type GitEntry, type GitListing, listGitFiles } from "./git-files.ts";
import { ListingSnapshot, rulesAround } from "./listing-snapshot.ts";
import {
	BAD_NAME,
	MAX_FILES,
	MAX_SOURCE_BYTES,
	MAX_TEXTS,
	type ScannedFile,
	type ScannedTree,
	type ScanTrouble,
	type Symlink,
} from "./scanned-tree.ts";
import type { OuterRules } from "./walk-files.ts";

export interface ScanOptions {
	readonly signal?: AbortSignal;
	readonly onProgress?: (files: number) => void;
	/** Called at once for each source file that has changed since the previous scan, if its listing still holds. */
	readonly onChanged?: (file: ScannedFile) => void;
	/** Configuration files to include even if git ignores them. Missing files are skipped. */
	readonly alsoConfigs?: Iterable<string>;
	/** Git's time limit for untracked files (default: 10 s). After it, or if it is 0, a walk lists them. */
	readonly othersMs?: number;
	/** Returns a listing of the root that was started for this scan, once. */
	readonly takeListing?: () => GitListing | undefined;
}

interface Listing {
	readonly listedBy: ScannedTree["listedBy"];
	readonly entries: readonly ListedEntry[];
	readonly texts: ReadonlySet<string>;
	readonly trouble: readonly ScanTrouble[];
}

interface ListedEntry {
	readonly path: string;
	readonly kind: PathKind;
	file?: ScannedFile;
}

/** Maximum age of a cached listing, since some file systems do not update folder times. */
const MAX_AGE_MS = 10 * 60_000;

/** Caches the listing from the second scan on, until a folder, a `.gitignore` or one of git's own files changes, or the listing is too old. */
export class TreeScanner {
	readonly #root: string;
	readonly #now: () => number;
	#cached: { listing: Listing; snapshot: ListingSnapshot; listedMs: number } | undefined;
	#hasScanned = false;
	#slowSinceMs = Number.NEGATIVE_INFINITY;

	constructor(root: string, { now = Date.now }: { now?: () => number } = {}) {
		this.#root = root;
		this.#now = now;
	}

	/** Omits ignored files. Rejects with `unavailable` if the root is unreadable, or with `aborted`. */
	async scan(options: ScanOptions = {}): Promise<ScannedTree> {
		const isSlow = this.#isRecent(this.#slowSinceMs);
		const quick = isSlow ? { ...options, othersMs: 0 } : options;
		return (await this.#scanCachedListing(options)) ?? (await this.#scanAgain(quick));
	}

	async #scanCachedListing(options: ScanOptions): Promise<ScannedTree | undefined> {
		const cached = this.#cached;
		if (!cached || !this.#isRecent(cached.listedMs) || !cached.snapshot.isCurrent())
			return undefined;
		const scan = new TreeScan(this.#root, options);
		return (await scan.rescan(cached.listing)) ? scan.result() : undefined;
	}

	async #scanAgain(options: ScanOptions): Promise<ScannedTree> {
		this.#cached = undefined;
		const listedMs = this.#now();
		// The first scan takes no snapshot, since it is often the only scan.
		const snapshot = this.#hasScanned
			? await ListingSnapshot.take(this.#root, this.#now)
			: undefined;
		const scan = new TreeScan(this.#root, options);
		await scan.scanAll();
		this.#hasScanned = true;
		const tree = scan.result();
		const listing = snapshot && scan.listing();
		if (snapshot && listing) this.#cached = { snapshot, listing, listedMs };
		if (options.othersMs !== 0 && tree.trouble.some(({ kind }) => kind === "slow")) {
			this.#slowSinceMs = this.#now();
		}
		return tree;
	}

	#isRecent(ms: number): boolean {
		return Math.abs(this.#now() - ms) <= MAX_AGE_MS;
	}
}

/** Number of files per turn of the event loop. */
const BATCH_SIZE = 512;
const MAX_NESTED_REPOSITORIES = 200;
/** Kinds of trouble that persist until a folder or rule changes. */
const PERSISTENT = new Set<ScanTrouble["kind"]>(["unreadable", "bad-name", "rules", "slow"]);

class TreeScan {
	/** The real path. */
	readonly #root: string;
	readonly #options: ScanOptions;
	readonly #files = new Map<string, ScannedFile>();
	readonly #configs = new Map<string, ScannedFile>();
	readonly #texts = new Set<string>();
	readonly #links = new Map<string, Symlink>();
	readonly #trouble = new Map<string, ScanTrouble>();
	/** Checked folders. False for a folder that is a link or lies behind a link. */
	readonly #folders = new Map<string, boolean>([["", true]]);
	readonly #listed: ListedEntry[] = [];
	readonly #listingTrouble: ScanTrouble[] = [];
	#listedBy: "git" | "walk" = "git";
	#nested = 0;
	#sinceYield = 0;

	constructor(root: string, options: ScanOptions) {
		this.#options = options;
		try {
			this.#root = realpathSync(root);
			if (!statSync(this.#root).isDirectory()) throw new Error("it is not a folder");
		} catch (error) {
			const message = `The project folder ${root} cannot be read: ${describeError(error)}. Name an existing folder.`;
			throw new CodeIndexError("unavailable", message, { cause: error });
		}
	}

	async scanAll(): Promise<void> {
		this.#throwIfAborted();
		const listed = await this.#listRepository("");
		// Git lists nothing if the repository ignores the whole folder.
		if (!listed || this.#files.size === 0) {
			this.#listedBy = "walk";
			await this.#walk("");
		}
		this.#addOtherConfigs();
		this.#options.onProgress?.(this.#files.size);
	}

	/** Returns undefined if a transient error occurred. */
	listing(): Listing | undefined {
		const trouble = this.#listingTrouble;
		if (!trouble.every(({ kind }) => PERSISTENT.has(kind))) return undefined;
		const entries = byPath(this.#listed);
		for (const entry of entries) {
			const file = this.#mapFor(entry.kind).get(entry.path);
			if (file) entry.file = file;
		}
		return { listedBy: this.#listedBy, entries, texts: this.#texts, trouble };
	}

	/** Returns false if the listing is outdated. */
	async rescan({ listedBy, entries, texts, trouble }: Listing): Promise<boolean> {
		this.#throwIfAborted();
		this.#listedBy = listedBy;
		for (const path of texts) this.#texts.add(path);
		for (const one of trouble) this.#note(one);
		for (const entry of entries) {
			const stats = this.#lstat(entry.path);
			if (stats?.isFile()) this.#restat(entry, stats);
			else if (stats?.isSymbolicLink() && !entry.file) this.#addLink(entry.path);
			else if (stats) return false;
			if (++this.#sinceYield >= BATCH_SIZE) await this.#yieldToEventLoop();
		}
		if (this.#files.size === 0) return false;
		this.#addOtherConfigs();
		this.#options.onProgress?.(this.#files.size);
		return true;
	}

	result(): ScannedTree {
		return {
			files: byPath(this.#files.values()),
			configs: byPath(this.#configs.values()),
			texts: [...this.#texts].sort(),
			links: byPath(this.#links.values()),
			trouble: byPath(this.#trouble.values()),
			listedBy: this.#listedBy,
		};
	}

	#restat(entry: ListedEntry, stats: Stats): void {
		const { path, kind, file } = entry;
		if (!isScanned(kind)) return;
		if (file && haveSameTimes(file, timesOf(stats))) {
			this.#mapFor(kind).set(path, file);
		} else {
			this.#add(path, kind, stats);
			const found = this.#mapFor(kind).get(path);
			if (!found) return;
			entry.file = found;
			if (kind === "source") this.#options.onChanged?.(found);
		}
	}

	/** Follows links, since workspace packages are links in `node_modules`. */
	#addOtherConfigs(): void {
		for (const path of this.#options.alsoConfigs ?? []) {
			if (/^\/|(?:^|\/)\.\.(?:\/|$)/.test(path) || this.#configs.has(path)) continue;
			const stats = statSync(join(this.#root, path), { throwIfNoEntry: false });
			if (stats?.isFile()) this.#configs.set(path, { path, ...timesOf(stats) });
		}
	}

	async #listRepository(folder: string): Promise<boolean> {
		const repositories: string[] = [];
		const take = async (entries: readonly GitEntry[]) => {
			for (const { path, kind } of entries) {
				const inRoot = below(folder, path);
				if (kind === "repository") repositories.push(inRoot);
				else this.#visit(inRoot, kind);
				if (++this.#sinceYield >= BATCH_SIZE) await this.#yieldToEventLoop();
			}
		};
		const { signal, othersMs, takeListing } = this.#options;
		const listing = folder === "" ? takeListing?.() : undefined;
		const outcome = await listGitFiles(join(this.#root, folder), take, {
			...(signal && { signal }),
			...(othersMs !== undefined && { othersMs }),
			...(listing && { listing }),
		});
		this.#throwIfAborted();
		if (outcome.kind === "failed") {
			const message = `git could not list the files: ${outcome.message}`;
			this.#noteListing({ kind: "git", path: folder, message });
		}
		if (outcome.kind !== "listed") return false;
		for (const path of outcome.unreadable) {
			const message = "the folder cannot be read";
			this.#noteListing({ kind: "unreadable", path: below(folder, path), message });
		}
		for (const path of outcome.badNames) {
			if (pathKind(path) === "other") continue;
			this.#noteListing({ kind: "bad-name", path: below(folder, path), message: BAD_NAME });
		}
		if (outcome.isPartial) {
			const message = "git took too long to list untracked files";
			this.#noteListing({ kind: "slow", path: folder, message });
			await this.#walk(folder, await rulesAround(join(this.#root, folder)));
		}
		for (const path of repositories) await this.#enterRepository(path);
		return true;
	}

	/** A submodule that was never fetched is an empty folder and is walked. */
	async #enterRepository(path: string): Promise<void> {
		if (!isPathBelow(path) || !this.#isRealFolder(path)) return;
		if (++this.#nested > MAX_NESTED_REPOSITORIES) {
			const message = `there are more than ${MAX_NESTED_REPOSITORIES} repositories in the project`;
			this.#noteListing({ kind: "too-many", path, message });
			return;
		}
		// If the folder has no `.git`, git would list the outer repository.
		const isRepository = existsSync(join(this.#root, path, ".git"));
		if (!isRepository || !(await this.#listRepository(path))) await this.#walk(path);
	}

	async #walk(folder: string, outer: readonly OuterRules[] = []): Promise<void> {
		const { walkFolders } = await import("./walk-files.ts");
		for (const found of walkFolders(join(this.#root, folder), undefined, outer)) {
			const inRoot = (path: string) => below(folder, path);
			for (const trouble of found.trouble) {
				this.#noteListing({ ...trouble, path: inRoot(trouble.path) });
			}
			this.#folders.set(inRoot(found.path), true);
			for (const path of found.files) this.#visit(inRoot(path), "file");
			for (const path of found.links) this.#visit(inRoot(path), "link");
			this.#sinceYield += 4 + found.files.length;
			if (this.#sinceYield >= BATCH_SIZE) await this.#yieldToEventLoop();
			if (this.#files.size >= MAX_FILES) return;
		}
	}

	#visit(path: string, listedAs: "file" | "link"): void {
		const kind = pathKind(path);
		if (kind === "other" && listedAs === "file") return;
		if (!isPathBelow(path)) return;
		const isText = kind === "text" || kind === "config";
		// Documents are read only by a search, which finds out what became of them.
		if (isText && listedAs === "file" && this.#texts.size < MAX_TEXTS) this.#texts.add(path);
		if (kind === "text" && listedAs === "file") return;
		if (this.#mapFor(kind).has(path) || this.#links.has(path)) return;
		if (kind === "source" && this.#files.size >= MAX_FILES) {
			const message = `there are more than ${MAX_FILES} source files; the rest is left out`;
			this.#noteListing({ kind: "too-many", path: "", message });
			return;
		}
		const stats = this.#isRealFolder(folderOf(path)) ? this.#lstat(path) : undefined;
		if (stats === undefined) return;
		if (stats.isFile() || stats.isSymbolicLink()) this.#listed.push({ path, kind });
		if (stats.isSymbolicLink()) this.#addLink(path);
		else if (stats.isFile() && isScanned(kind)) this.#add(path, kind, stats);
	}

	#mapFor(kind: PathKind): Map<string, ScannedFile> {
		return kind === "config" ? this.#configs : this.#files;
	}

	#add(path: string, kind: "source" | "config", stats: Stats): void {
		if (kind === "source" && stats.size > MAX_SOURCE_BYTES) {
			const message = `it has ${stats.size} bytes; files over ${MAX_SOURCE_BYTES} are left out`;
			this.#note({ kind: "too-big", path, message });
		} else {
			this.#mapFor(kind).set(path, { path, ...timesOf(stats) });
		}
	}

	#addLink(path: string): void {
		try {
			const target = relative(this.#root, realpathSync(join(this.#root, path)));
			if (target === ".." || target.startsWith(`..${sep}`) || isAbsolute(target)) {
				const message = "it points outside the project and is not followed";
				this.#note({ kind: "link", path, message });
			} else if (target !== "" && !/(^|[\\/])(node_modules|\.git)([\\/]|$)/.test(target)) {
				this.#links.set(path, { path, target: target.split(sep).join("/") });
			}
		} catch (error) {
			this.#note({ kind: "link", path, message: describeError(error) });
		}
	}

	/** False for links: git can list files in a folder that has become a link. */
	#isRealFolder(folder: string): boolean {
		const known = this.#folders.get(folder);
		if (known !== undefined) return known;
		const real = this.#isRealFolder(folderOf(folder)) && !!this.#lstat(folder)?.isDirectory();
		this.#folders.set(folder, real);
		return real;
	}

	#lstat(path: string): Stats | undefined {
		try {
			// A missing file is usually tracked but deleted.
			return lstatSync(`${this.#root}/${path}`, { throwIfNoEntry: false });
		} catch (error) {
			this.#note({ kind: "unreadable", path, message: describeError(error) });
			return undefined;
		}
	}

	#note(trouble: ScanTrouble): void {
		this.#trouble.set(`${trouble.kind} ${trouble.path}`, trouble);
	}

	#noteListing(trouble: ScanTrouble): void {
		this.#listingTrouble.push(trouble);
		this.#note(trouble);
	}

	async #yieldToEventLoop(): Promise<void> {
		this.#sinceYield = 0;
		this.#options.onProgress?.(this.#files.size);
		await setImmediate();
		this.#throwIfAborted();
	}

	#throwIfAborted(): void {
		if (this.#options.signal?.aborted) {
			throw new CodeIndexError("aborted", "Scanning the project was aborted.");
		}
	}
}

/** Whether the metadata of such files decides what is indexed. */
function isScanned(kind: PathKind): kind is "source" | "config" {
	return kind === "source" || kind === "config";
}

function isPathBelow(path: string): boolean {
	return !/(?:^|\/)(?:\.\.|\.git|node_modules)(?:\/|$)|^\/|^$/.test(path);
}

function byPath<T extends { readonly path: string }>(items: Iterable<T>): T[] {
	return [...items].sort((a, b) => compareText(a.path, b.path));
}
