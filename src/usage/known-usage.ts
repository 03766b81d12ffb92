import { describeError, errnoOf } from "../core/errno.ts";
import { type FilesFound, findSessionFiles, sessionPlaces } from "../importers/index.ts";
import { UsageAccount, type UsageReport } from "./account.ts";
import { UsageCache, usageFolder } from "./cache.ts";
import { scanUsage } from "./scan.ts";
import { allMisses } from "./sums.ts";

/** Each sub-agent has a file of its own. */
const MAX_FILES = 100_000;

/** The session files below a folder. Rejects if it is unreadable, or has too many. */
export async function sessionFilesIn(folder: string, ending = /$/): Promise<FilesFound> {
	const { files, unreadable } = await findSessionFiles(folder, MAX_FILES);
	return { files: files.filter((file) => ending.test(file)), unreadable };
}

interface KnownFiles extends FilesFound {
	/** Those of `files` that are sessions of pi. */
	readonly ofPi: readonly string[];
	/** Where agents keep their sessions; some of these folders usually do not exist. */
	readonly folders: readonly string[];
}

/** The session files in the places where agents keep them. */
export async function knownFiles(env: NodeJS.ProcessEnv): Promise<KnownFiles> {
	const files = new Set<string>();
	const ofPi: string[] = [];
	const unreadable: FilesFound["unreadable"][number][] = [];
	const places = sessionPlaces(env);
	for (const { agent, folder, ending } of places) {
		const found = await sessionFilesIn(folder, ending).catch((error: unknown) => {
			const reason = describeError(error);
			return {
				files: [],
				unreadable: errnoOf(error) === "ENOENT" ? [] : [{ file: folder, reason }],
			};
		});
		for (const file of found.files) files.add(file);
		if (agent === "pi") ofPi.push(...found.files);
		unreadable.push(...found.unreadable);
	}
	return {
		files: [...files].sort(),
		ofPi,
		unreadable,
		folders: places.map(({ folder }) => folder),
	};
}

interface Choice {
	readonly env: NodeJS.ProcessEnv;
	/** Earlier requests do not count. */
	readonly sinceMs?: number | undefined;
	isHidden(file: string): boolean;
}

/** What the session files in the known places say, but for hidden ones. A file that cannot be read is counted. */
export async function knownUsage({ env, sinceMs, isHidden }: Choice) {
	const { files, unreadable } = await knownFiles(env);
	const account = new UsageAccount({ sinceMs });
	// Without a cache every file is read: slower, and the same answer.
	const cache = await UsageCache.open(usageFolder(env));
	try {
		const visible = files.filter((file) => !isHidden(file));
		const scan = await scanUsage(visible, {
			...(typeof cache !== "string" && { cache }),
			sinceMs,
			onUsage: (file, found) => account.add(file, found),
		});
		const { rows, unpricedModels } = account.report();
		return {
			rows: rows.map(flatRow),
			unpricedModels,
			files: scan.files,
			failed: scan.failed.length + unreadable.length,
		};
	} finally {
		if (typeof cache !== "string") cache.close();
	}
}

/** With the misses of all causes together. */
function flatRow(row: UsageReport["rows"][number]) {
	const { tokens, misses, ...rest } = row;
	const { read, write, input, output } = tokens;
	const lost = allMisses(misses);
	const missDollars = lost.dollars !== undefined && { missDollars: lost.dollars };
	return { ...rest, read, write, input, output, misses: lost.count, ...missDollars };
}
