import { existsSync, type Stats } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { CodeIndexError } from "../code-index.ts";
import { isSameFile } from "./changed-files.ts";
import { byPath, FoundFiles, scannedFile } from "./found-files.ts";
import { type GitEntry, listGitFiles } from "./git-files.ts";
import { type PathKind, pathKind } from "./path-kinds.ts";
import { below } from "./project-path.ts";
import { rulesAround } from "./rule-files.ts";
import { maxFiles, type ScannedFile, type ScannedTree, type ScanTrouble } from "./scanned-tree.ts";
import { badName, type OuterRules, walkFolders } from "./walk-files.ts";

export interface ScanOptions {
	readonly signal?: AbortSignal;
	/** Called from time to time with the number of files found. */
	readonly onProgress?: (files: number) => void;
	/** Further files to look at, as {@link ScannedTree.configs}, even if git ignores them; missing ones are left out. */
	readonly alsoConfigs?: Iterable<string>;
	/** How long git may take for files that it does not track; 0: it is not asked. They are then found by a walk. */
	readonly othersMs?: number;
}

/**
 * Finds the TypeScript and JavaScript files of a project, and the configuration that imports depend on. Ignored files
 * are left out, by git itself or by the `.gitignore` files. Rejects if the root cannot be read, or with `aborted`.
 */
export async function scanTree(root: string, options: ScanOptions = {}): Promise<ScannedTree> {
	const scan = new Scan(root, options);
	await scan.lookAround();
	return scan.result();
}

/** The files that a scan looked at, by path. */
export interface Listing {
	readonly listedBy: ScannedTree["listedBy"];
	readonly entries: readonly ListedEntry[];
	/** What could not be listed. */
	readonly trouble: readonly ScanTrouble[];
}

interface ListedEntry {
	readonly path: string;
	readonly kind: PathKind;
	/** As it was found last time. */
	file?: ScannedFile;
}

/** As {@link scanTree}, with its list; none if listing had passing trouble. */
export async function scanAndList(
	root: string,
	options: ScanOptions,
): Promise<{ readonly tree: ScannedTree; readonly listing: Listing | undefined }> {
	const scan = new Scan(root, options);
	await scan.lookAround();
	return { tree: scan.result(), listing: scan.listing() };
}

/** As {@link scanTree}, of files that were listed before; undefined if the list is outdated. */
export async function scanListed(
	root: string,
	listing: Listing,
	options: ScanOptions,
): Promise<ScannedTree | undefined> {
	const scan = new Scan(root, options);
	return (await scan.lookAgain(listing)) ? scan.result() : undefined;
}

/** How many files are looked at before the event loop gets a turn. */
const batchSize = 512;
const maxNestedRepositories = 200;
/** Trouble that is the same as long as no folder and no rule changes. */
const lasting = new Set<ScanTrouble["kind"]>(["unreadable", "bad-name", "rules", "slow"]);

class Scan {
	readonly #options: ScanOptions;
	readonly #found: FoundFiles;
	readonly #listed: ListedEntry[] = [];
	/** Trouble with listing, as opposed to looking at what is listed. */
	readonly #listingTrouble: ScanTrouble[] = [];
	#listedBy: "git" | "walk" = "git";
	#nested = 0;
	#sinceTurn = 0;

	constructor(root: string, options: ScanOptions) {
		this.#options = options;
		this.#found = new FoundFiles(root);
	}

	async lookAround(): Promise<void> {
		this.#refuseIfAborted();
		const listed = await this.#listRepository("");
		// Git knows nothing of a folder that its repository ignores as a whole.
		if (!listed || this.#found.files.size === 0) {
			this.#listedBy = "walk";
			await this.#walk("");
		}
		this.#lookAtOtherConfigs();
		this.#options.onProgress?.(this.#found.files.size);
	}

	listing(): Listing | undefined {
		const trouble = this.#listingTrouble;
		if (!trouble.every(({ kind }) => lasting.has(kind))) return undefined;
		const entries = byPath(this.#listed);
		for (const entry of entries) {
			const file = this.#found.of(entry.kind).get(entry.path);
			if (file) entry.file = file;
		}
		return { listedBy: this.#listedBy, entries, trouble };
	}

	/** Looks at what was listed before. False if there is something else now, or nothing. */
	async lookAgain({ listedBy, entries, trouble }: Listing): Promise<boolean> {
		this.#refuseIfAborted();
		this.#listedBy = listedBy;
		for (const one of trouble) this.#found.note(one);
		for (const entry of entries) {
			const stats = this.#found.lstat(entry.path);
			if (stats?.isFile()) this.#lookAtAgain(entry, stats);
			else if (stats?.isSymbolicLink() && !entry.file) this.#found.addLink(entry.path);
			else if (stats) return false;
			if (++this.#sinceTurn >= batchSize) await this.#letOthersRun();
		}
		if (this.#found.files.size === 0) return false;
		this.#lookAtOtherConfigs();
		this.#options.onProgress?.(this.#found.files.size);
		return true;
	}

	#lookAtAgain(entry: ListedEntry, stats: Stats): void {
		const { path, kind, file } = entry;
		if (kind === "other") return;
		if (file && isSameFile(file, scannedFile(path, stats))) {
			this.#found.of(kind).set(path, file);
		} else {
			this.#found.add(path, kind, stats);
			const found = this.#found.of(kind).get(path);
			if (found) entry.file = found;
		}
	}

	#lookAtOtherConfigs(): void {
		for (const path of this.#options.alsoConfigs ?? []) {
			if (!/^\/|(?:^|\/)\.\.(?:\/|$)/.test(path)) this.#found.addConfig(path);
		}
	}

	result(): ScannedTree {
		return { ...this.#found.all(), listedBy: this.#listedBy };
	}

	/** Lists the repository at or around a folder; false if there is none, or git does not help. */
	async #listRepository(folder: string): Promise<boolean> {
		const repositories: string[] = [];
		const take = async (entries: readonly GitEntry[]) => {
			for (const { path, kind } of entries) {
				const inRoot = below(folder, path);
				if (kind === "repository") repositories.push(inRoot);
				else this.#lookAt(inRoot, kind);
				if (++this.#sinceTurn >= batchSize) await this.#letOthersRun();
			}
		};
		const { signal, othersMs } = this.#options;
		const outcome = await listGitFiles(join(this.#found.root, folder), take, {
			signal,
			...(othersMs !== undefined && { othersMs }),
		});
		this.#refuseIfAborted();
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
			this.#noteListing({ kind: "bad-name", path: below(folder, path), message: badName });
		}
		if (outcome.isPartial) {
			const message = "git took too long to find the files that it does not track";
			this.#noteListing({ kind: "slow", path: folder, message });
			await this.#walk(folder, await rulesAround(join(this.#found.root, folder)));
		}
		for (const path of repositories) await this.#enterRepository(path);
		return true;
	}

	/** A submodule or a repository within the repository; one that was never fetched is an empty folder. */
	async #enterRepository(path: string): Promise<void> {
		if (!isPathBelow(path) || !this.#found.isRealFolder(path)) return;
		if (++this.#nested > maxNestedRepositories) {
			const message = `there are more than ${maxNestedRepositories} repositories in the project`;
			this.#noteListing({ kind: "too-many", path, message });
			return;
		}
		// Without a repository of its own, git would answer for the one around it.
		const isRepository = existsSync(join(this.#found.root, path, ".git"));
		if (!isRepository || !(await this.#listRepository(path))) await this.#walk(path);
	}

	async #walk(folder: string, outer: readonly OuterRules[] = []): Promise<void> {
		for (const found of walkFolders(join(this.#found.root, folder), undefined, outer)) {
			const inRoot = (path: string) => below(folder, path);
			for (const trouble of found.trouble) {
				this.#noteListing({ ...trouble, path: inRoot(trouble.path) });
			}
			this.#found.folderIsReal(inRoot(found.path));
			for (const path of found.files) this.#lookAt(inRoot(path), "file");
			for (const path of found.links) this.#lookAt(inRoot(path), "link");
			this.#sinceTurn += 4 + found.files.length;
			if (this.#sinceTurn >= batchSize) await this.#letOthersRun();
			if (this.#found.files.size >= maxFiles) return;
		}
	}

	#lookAt(path: string, listedAs: "file" | "link"): void {
		const kind = pathKind(path);
		if (kind === "other" && listedAs === "file") return;
		if (!isPathBelow(path)) return;
		if (this.#found.of(kind).has(path) || this.#found.links.has(path)) return;
		if (kind === "source" && this.#found.files.size >= maxFiles) {
			const message = `there are more than ${maxFiles} source files; the rest is left out`;
			this.#noteListing({ kind: "too-many", path: "", message });
			return;
		}
		const stats = this.#found.lstatIn(path);
		if (stats === undefined) return;
		if (stats.isFile() || stats.isSymbolicLink()) this.#listed.push({ path, kind });
		if (stats.isSymbolicLink()) this.#found.addLink(path);
		else if (stats.isFile() && kind !== "other") this.#found.add(path, kind, stats);
	}

	#noteListing(trouble: ScanTrouble): void {
		this.#listingTrouble.push(trouble);
		this.#found.note(trouble);
	}

	async #letOthersRun(): Promise<void> {
		this.#sinceTurn = 0;
		this.#options.onProgress?.(this.#found.files.size);
		await setImmediate();
		this.#refuseIfAborted();
	}

	#refuseIfAborted(): void {
		if (this.#options.signal?.aborted) {
			throw new CodeIndexError("aborted", "Looking at the files of the project was aborted.");
		}
	}
}

/** Whether a path from a list stays in the project, and out of what is never indexed. */
function isPathBelow(path: string): boolean {
	return !/(?:^|\/)(?:\.\.|\.git|node_modules)(?:\/|$)|^\/|^$/.test(path);
}
