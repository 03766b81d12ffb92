import { type Dirent, existsSync } from "node:fs";
import { opendir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { CODE_INDEX_STORE, codeIndexFolder } from "../codeindex/index.ts";
import { BLOB_STORE, blobFolder } from "../core/blob-store.ts";
import { type Config, loadConfig } from "../core/config.ts";
import { agentFolder, cacheFolder } from "../core/places.ts";
import { readRegularFile } from "../core/regular-file.ts";
import { HOOK_STORE, hookFolder } from "../hook/index.ts";
import { readCacheFolder } from "../readcache/index.ts";
import { SAVINGS_STORE, savingsFolder } from "../savings/index.ts";
import { counted, megabytes } from "../text/figures.ts";
import { TIER_STORE, tierStateFolder } from "../tiers/index.ts";
import { TRAFFIC_STORE, trafficFolder } from "../traffic/index.ts";
import { USAGE_STORE, usageFolder } from "../usage/index.ts";
import { SAVED_STORE, savedFolder } from "../usage/saved-book.ts";
import { type Command, FLAG, hintFor, TEXTS, UsageError } from "./command.ts";
import { serverFolder } from "./serve.ts";

export const clean: Command = {
	name: "clean",
	usage: "[--delete <store>… | --all] [--yes] [--json]",
	details: [
		"",
		"Without options, it only lists the stores. --delete deletes the named stores, --all deletes all of them;",
		"both ask first unless --yes is given. A folder without pi-strata's version file is never deleted. Node's",
		"compile cache (compiled) has no such file; it is recognized by its folders, one per version of Node.",
		"Data that cannot be rebuilt is not listed: the tokens, journal and demo projects of strata serve, in",
		"strata/server of pi's folder or in --data-dir. Stop the server before you delete them. The record of",
		"requests through the proxy (traffic) and of savings in pi (saved) is listed, although it cannot be rebuilt either.",
		"The manifest of strata setup is not listed: strata setup --undo needs it, and deletes it.",
	],
	options: { delete: TEXTS, all: FLAG, yes: FLAG, json: FLAG },
	async run(options, _words, terminal) {
		const { config } = loadConfig({ agentDir: agentFolder(terminal.env), cwd: terminal.cwd });
		const stores = await Promise.all(knownStores(config, terminal).map(measureStore));
		const chosen = options.all ? stores : named(stores, options.delete as string[] | undefined);
		const deleted: string[] = [];
		for (const store of chosen) {
			if (store.state === "absent") continue;
			if (store.state === "foreign") {
				throw new Error(`${store.folder} was not made by pi-strata, so delete it by hand`);
			}
			if (options.yes !== true) {
				if (!terminal.confirm)
					throw new UsageError("cannot ask without a terminal; add --yes to delete");
				const question = `Delete ${store.folder} (${store.note})? Afterwards, ${store.loss}.`;
				if (!(await terminal.confirm(question))) continue;
			}
			await rm(store.folder, { recursive: true, force: true });
			deleted.push(store.folder);
		}
		const server = { name: "server", folder: serverFolder(terminal.env) };
		const { setupFolder } = await import("../setup/index.ts");
		const manifest = { name: "setup", folder: setupFolder(agentFolder(terminal.env)) };
		const notListed = [server, manifest].filter(({ folder }) => existsSync(folder));
		if (options.json) {
			terminal.print(JSON.stringify({ stores, deleted, notListed }, null, 2));
			return 0;
		}
		for (const store of stores) {
			const fate = deleted.includes(store.folder) ? "deleted" : store.note;
			terminal.print(`${store.name.padEnd(10)} ${fate}  ${store.what}: ${store.folder}`);
		}
		for (const { name, folder } of notListed) {
			const [data, advice] = NOT_LISTED[name] ?? [];
			terminal.print(`not listed: ${data} in ${folder}; ${advice}`);
		}
		if (chosen.length === 0)
			terminal.print("Nothing was deleted. Use --delete <store> or --all to delete.");
		return 0;
	},
};

const NOT_LISTED: Record<string, [data: string, advice: string]> = {
	server: [
		"the server's tokens, journal and demo projects",
		"stop the server before you delete them",
	],
	setup: ["what strata setup changed", '"strata setup --undo" deletes it'],
};

function named(stores: MeasuredStore[], names: string[] = []): MeasuredStore[] {
	return names.flatMap((name) => {
		const found = stores.filter((candidate) => candidate.name === name);
		if (found.length > 0) return found;
		const known = stores.map((candidate) => candidate.name);
		throw new UsageError(`unknown store "${name}"; ${hintFor(name, known)}`);
	});
}

/** A folder of pi-strata that can be rebuilt. */
interface Store {
	readonly name: string;
	readonly folder: string;
	/** What it holds, in plain words. */
	readonly what: string;
	/** The effect of deleting the store. Completes "Afterwards, …". */
	readonly loss: string;
}

type MeasuredStore = Awaited<ReturnType<typeof measureStore>>;

/** Node's compile cache. It has no version file, but a folder of hashes for each Node version. */
const COMPILED_STORE = "compiled";
const COMPILED_FOLDER = /^v\d+\.\d+\.\d+-\S+-[0-9a-f]{1,8}(?:-\d+)?$/;
/** The name has a suffix while Node writes the file. */
const COMPILED_FILE = /^[0-9a-f]{1,8}(?:\.\w{6})?$/;

/** Returns all stores, including the read cache's default folder if another one is configured. */
export function knownStores(
	config: Config,
	{ cwd, env }: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Store[] {
	const folders = [config.readcache, { ...config.readcache, storeDir: "" }].map((settings) =>
		readCacheFolder(settings, cwd),
	);
	return [
		...[...new Set(folders)].map((folder) => ({
			name: "readcache",
			folder,
			what: "versions of files that the model saw",
			loss: "the next changed file is sent in full instead of as a diff",
		})),
		{
			name: BLOB_STORE,
			folder: blobFolder(config.blobs),
			what: "full texts of shortened and pruned results",
			loss: "shortened answers and pruned results can no longer be read in full",
		},
		{
			name: TIER_STORE,
			folder: tierStateFolder(cwd),
			what: "how long working files have been stable",
			loss: "working files count as new and graduate through the tiers again",
		},
		{
			name: CODE_INDEX_STORE,
			folder: codeIndexFolder(),
			what: "indexes of projects, for questions about code",
			loss: "every project is indexed again at the next question about it",
		},
		{
			name: TRAFFIC_STORE,
			folder: trafficFolder(env),
			what: "requests that went through the proxy",
			loss: "strata traffic starts with an empty book",
		},
		{
			name: SAVINGS_STORE,
			folder: savingsFolder(env),
			what: "which results of other agents were shortened",
			loss: "running conversations are sent in full, which a model with bound thinking may refuse once",
		},
		{
			name: HOOK_STORE,
			folder: hookFolder(env),
			what: "what hooks in other agents saved",
			loss: "strata hook report starts at zero",
		},
		{
			name: USAGE_STORE,
			folder: usageFolder(env),
			what: "counts from session files",
			loss: "strata usage reads every session file again",
		},
		{
			name: SAVED_STORE,
			folder: savedFolder(agentFolder(env)),
			what: "what pi cost and pi-strata saved, by day",
			loss: "/strata counts the savings of today and of all sessions from zero",
		},
		{
			name: COMPILED_STORE,
			// The same folder as in `bin/strata.js`.
			folder: join(cacheFolder(), "compiled"),
			what: "compiled code of strata, for quicker starts",
			loss: "the next start of strata takes a little longer",
		},
	];
}

/** Never throws. Unreadable content is not counted. */
export async function measureStore(store: Store) {
	const state = await stateOf(store);
	if (state === "absent") return { ...store, state, files: 0, bytes: 0, note: "empty" };
	const { files, bytes } = await sizeOf(store.folder);
	const size = `${counted(files, "file")}, ${formatBytes(bytes)}`;
	const note = state === "ours" ? size : `${size}, not made by pi-strata`;
	return { ...store, state, files, bytes, note };
}

/** `foreign`: the folder lacks this store's version file, so it is never deleted. */
async function stateOf(store: Store): Promise<"absent" | "ours" | "foreign"> {
	if (!(await stat(store.folder).catch(() => undefined))) return "absent";
	try {
		if (store.name === COMPILED_STORE) {
			const entries = await readdir(store.folder, { recursive: true, withFileTypes: true });
			const isOurs = (entry: Dirent) =>
				entry.parentPath === store.folder
					? entry.isDirectory() && COMPILED_FOLDER.test(entry.name)
					: entry.isFile() && COMPILED_FILE.test(entry.name);
			return entries.every(isOurs) ? "ours" : "foreign";
		}
		// A repository can contain this file as a link to a device or a pipe, which must not block.
		const file = await readRegularFile(join(store.folder, "version.json"), 4096);
		if (file.kind !== "read") return "foreign";
		const marker: unknown = JSON.parse(file.bytes.toString());
		return (marker as { store?: unknown } | null)?.store === store.name ? "ours" : "foreign";
	} catch {
		return "foreign"; // no readable version file: not provably ours
	}
}

async function sizeOf(folder: string): Promise<{ files: number; bytes: number }> {
	const total = { files: 0, bytes: 0 };
	try {
		for await (const entry of await opendir(folder, { recursive: true })) {
			if (!entry.isFile()) continue;
			const info = await stat(join(entry.parentPath, entry.name)).catch(() => undefined);
			total.files += 1;
			total.bytes += info?.size ?? 0;
		}
	} catch {
		// The folder vanished or cannot be read: report the count so far.
	}
	return total;
}

function formatBytes(bytes: number): string {
	if (bytes < 1024) return `${bytes} B`;
	if (bytes < 1024 ** 2) return `${(bytes / 1024).toFixed(1)} KB`;
	return megabytes(bytes);
}
