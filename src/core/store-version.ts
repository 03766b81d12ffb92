import { chmod, lstat, mkdir, opendir } from "node:fs/promises";
import { join } from "node:path";
import { isTemporaryName, writeFileAtomic } from "./atomic-file.ts";
import { describeError, errnoOf } from "./errno.ts";
import { readRegularFile } from "./regular-file.ts";

type StoreFolderOptions = {
	readonly folder: string;
	/** The kind of store. A folder that belongs to another kind is never touched. */
	readonly name: string;
	readonly version: number;
	/** Without a valid version file, any unowned entry makes the folder foreign. Default: owns no entry. */
	readonly owns?: (entryName: string) => boolean;
};

export type StoreFolder =
	| { readonly kind: "ready" }
	| { readonly kind: "newer"; readonly found: number; readonly message: string }
	| { readonly kind: "unusable"; readonly message: string; readonly cause?: unknown };

/** Sets up a missing or empty folder (0700). Never touches one of another version or store. Never throws. */
export async function openStoreFolder(options: StoreFolderOptions): Promise<StoreFolder> {
	try {
		return await open(options);
	} catch (error) {
		const message = `The ${options.name} store cannot use ${options.folder}: ${describeError(error)}.`;
		return { kind: "unusable", message, cause: error };
	}
}

const VERSION_FILE = "version.json";
const IGNORE_FILE = ".gitignore";
/** File managers leave these in any folder. */
const LITTER = [".DS_Store", "Thumbs.db", "desktop.ini"];
/** Maximum size of a version file, far more than needed: a bigger file is not ours. */
const MAX_VERSION_BYTES = 4096;

async function open(options: StoreFolderOptions): Promise<StoreFolder> {
	const { folder, name, version } = options;
	const place = await kindOfPlace(folder);
	if (place === "missing") return await claim(options);
	// Security: a link in a repository would redirect our writes to a folder that the repository chose.
	if (place === "link") return unusable(options, "it is a link; name the folder itself");
	if (place === "other") return unusable(options, "it is not a folder");

	const found = await readVersion(options);
	if (found === "foreign") return unusable(options, `it belongs to a store other than ${name}`);
	if (found === "unknown") {
		const foreign = await findForeignEntry(options);
		if (foreign === undefined) return await claim(options);
		const entry = JSON.stringify(foreign);
		return unusable(options, `it has no valid ${VERSION_FILE}, and ${entry} is not of this store`);
	}
	if (found > version) {
		const message = `The ${name} store in ${folder} has version ${found}, but this pi-strata supports up to ${version}. Update pi-strata, or run \`strata clean\` to start over.`;
		return { kind: "newer", found, message };
	}
	if (found === version) return { kind: "ready" };
	const reason = `version ${found} cannot be upgraded; run \`strata clean\` to start over`;
	return unusable(options, reason);
}

function unusable({ folder, name }: StoreFolderOptions, reason: string): StoreFolder {
	return { kind: "unusable", message: `The ${name} store cannot use ${folder}: ${reason}.` };
}

async function kindOfPlace(folder: string): Promise<"missing" | "folder" | "link" | "other"> {
	try {
		const stats = await lstat(folder);
		if (stats.isSymbolicLink()) return "link";
		return stats.isDirectory() ? "folder" : "other";
	} catch (error) {
		if (errnoOf(error) === "ENOENT") return "missing";
		throw error;
	}
}

async function readVersion(options: StoreFolderOptions): Promise<number | "unknown" | "foreign"> {
	const file = await readRegularFile(join(options.folder, VERSION_FILE), MAX_VERSION_BYTES);
	if (file.kind === "missing") return "unknown";
	if (file.kind === "refused") return "foreign";
	let value: unknown;
	try {
		value = JSON.parse(file.bytes.toString());
	} catch {
		return "unknown";
	}
	if (typeof value !== "object" || value === null) return "unknown";
	if (!("store" in value) || !("version" in value)) return "unknown";
	const { store, version } = value;
	if (typeof store === "string" && store !== options.name) return "foreign";
	return Number.isSafeInteger(version) && Number(version) > 0 ? Number(version) : "unknown";
}

/** Files of the setup are not foreign, since another process may be setting up the store. */
async function findForeignEntry({ folder, owns }: StoreFolderOptions): Promise<string | undefined> {
	for await (const { name } of await opendir(folder)) {
		if (name === VERSION_FILE || name === IGNORE_FILE || isTemporaryName(name)) continue;
		if (!LITTER.includes(name) && !owns?.(name)) return name;
	}
	return undefined;
}

async function claim(options: StoreFolderOptions): Promise<StoreFolder> {
	const { folder, name, version } = options;
	await mkdir(folder, { recursive: true, mode: 0o700 });
	// Best effort: the store also works in a folder whose permissions we may not change.
	await chmod(folder, 0o700).catch(() => {});
	try {
		await writeFileAtomic(join(folder, IGNORE_FILE), "*\n");
		const content = `${JSON.stringify({ store: name, version })}\n`;
		await writeFileAtomic(join(folder, VERSION_FILE), content, { durable: true });
	} catch (error) {
		// On Windows this fails if another process that sets up the same store holds the file open.
		if ((await readVersion(options)) !== version) throw error;
	}
	return { kind: "ready" };
}
