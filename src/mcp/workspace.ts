import { realpathSync, statSync } from "node:fs";
import { resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type * as Code from "../code/index.ts";
import { createBlobStore } from "../core/blob-store.ts";
import { type Config, loadConfig } from "../core/config.ts";
import { ExcludedValues, guardBlobs } from "../core/excluded-values.ts";
import { getOrAdd } from "../core/get-or-add.ts";
import { projectRoot, realOrGiven } from "../core/places.ts";
import type * as Paging from "../paging/index.ts";

export interface WorkspaceOptions {
	/** Where the user's settings are. */
	readonly agentDir: string;
	/** The folder of calls while the client names none. */
	readonly cwd: string;
	/** Indexes and readers unused for this long are closed; the next call opens them. Default: 5 min. */
	readonly idleMs?: number;
}

const IDLE_MS = 5 * 60_000;

/** A client may name any number of folders; more than this are ignored. */
const MAX_FOLDERS = 16;

/** The folders that a client works in. The first is that of calls that name no path. */
export class Workspace {
	readonly #options: WorkspaceOptions;
	readonly #folders = new Map<string, Folder>();
	#paths: readonly string[];
	#calls = 0;
	#idle: NodeJS.Timeout | undefined;

	constructor(options: WorkspaceOptions) {
		this.#options = options;
		this.#paths = [options.cwd];
	}

	/** Takes over what the client names as its roots. Folders that are open stay open. */
	setRoots(uris: readonly string[]): void {
		const paths = uris.flatMap(folderOf).slice(0, MAX_FOLDERS);
		this.#paths = paths.length > 0 ? paths : [this.#options.cwd];
	}

	/** Uses the folder that contains the first of the paths which one of the folders contains, else the first. */
	async use<Result>(
		paths: readonly string[],
		work: (folder: Folder) => Promise<Result>,
	): Promise<Result> {
		clearTimeout(this.#idle);
		this.#calls++;
		try {
			return await work(this.#folderOf(paths));
		} finally {
			this.#calls--;
			if (this.#calls === 0) this.#closeWhenIdle();
		}
	}

	async close(): Promise<void> {
		clearTimeout(this.#idle);
		const folders = [...this.#folders.values()];
		this.#folders.clear();
		await Promise.all(folders.map((folder) => folder.close()));
	}

	#folderOf(paths: readonly string[]): Folder {
		const named = paths.flatMap((path) => this.#paths.find((root) => contains(root, path)) ?? []);
		const path = named[0] ?? (this.#paths[0] as string);
		return getOrAdd(this.#folders, path, () => new Folder(path, this.#options.agentDir));
	}

	#closeWhenIdle(): void {
		const { idleMs = IDLE_MS } = this.#options;
		this.#idle = setTimeout(() => void this.close(), idleMs).unref();
	}
}

interface CodeParts {
	readonly code: typeof Code;
	readonly project: Code.CodeProject;
	readonly paths: ReturnType<typeof Code.projectPaths>;
}

/** A folder and what answers questions about it. Opens on first use. */
export class Folder {
	readonly path: string;
	readonly config: Config;
	readonly #values: ExcludedValues;
	#code: Promise<CodeParts> | undefined;
	#reader: Promise<Paging.PagedReader> | undefined;

	constructor(path: string, agentDir: string) {
		this.path = path;
		this.config = loadConfig({ agentDir, cwd: path }).config;
		const { exclude } = this.config.readcache;
		this.#values = new ExcludedValues({ root: projectRoot(path), exclude });
	}

	/** The store of shortened texts. Texts with secrets are not stored. */
	get blobs() {
		return guardBlobs(createBlobStore(this.config.blobs), this.#values);
	}

	/** Loads the code index's modules. The index itself opens with the first question. */
	code(): Promise<CodeParts> {
		this.#code ??= this.#openCode();
		return this.#code;
	}

	reader(): Promise<Paging.PagedReader> {
		const { paging, readcache } = this.config;
		this.#reader ??= import("../paging/index.ts").then(({ createPagedReader }) =>
			createPagedReader({ ...paging, root: this.path, exclude: readcache.exclude }),
		);
		return this.#reader;
	}

	async close(): Promise<void> {
		const [code, reader] = await Promise.allSettled([this.#code, this.#reader]);
		if (code.status === "fulfilled") await code.value?.project.close();
		if (reader.status === "fulfilled") await reader.value?.close();
	}

	async #openCode(): Promise<CodeParts> {
		const code: typeof Code = await import("../code/index.ts");
		const root = projectRoot(this.path);
		const { kota, readcache } = this.config;
		const open = () => code.openEngine(kota, root, { exclude: readcache.exclude });
		const project = new code.CodeProject({ root, confirmIndex: kota.confirmIndex, open });
		return { code, project, paths: code.projectPaths(root, this.path) };
	}
}

function folderOf(uri: string): string[] {
	try {
		const path = realpathSync(fileURLToPath(uri));
		return statSync(path).isDirectory() ? [path] : [];
	} catch {
		return []; // not a local folder
	}
}

function contains(root: string, path: string): boolean {
	const within = root.endsWith(sep) ? root : root + sep;
	return `${realOrGiven(resolve(root, path))}${sep}`.startsWith(within);
}
