import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { describeError, errnoOf } from "../core/errno.ts";
import { AGENT_NAMES } from "../importers/index.ts";
import { counted } from "../text/figures.ts";
import { plainText } from "../text/one-line.ts";
import {
	csvText,
	dearestText,
	type FailedFile,
	GROUPINGS,
	groupRows,
	scanUsage,
	sinceOf,
	startOfDay,
	statusLine,
	summaryText,
	tableText,
	UsageAccount,
	UsageCache,
	usageFolder,
} from "../usage/index.ts";
import { knownFiles, sessionFilesIn } from "../usage/known-usage.ts";
import {
	type Command,
	FLAG,
	hintFor,
	NOTHING_FOUND,
	TEXT,
	TEXTS,
	type Terminal,
	UsageError,
} from "./command.ts";
import { terminalSafeJson } from "./replay.ts";
import { savedSince, savedText } from "./saved.ts";

export const usage: Command = {
	name: "usage",
	usage:
		"[--since 7d|2026-11-01] [--by day|week|model|agent|project] [--agent <name>…] [--json | --csv] [--statusline] [folder…]",
	details: [
		"",
		"Reads the session files of pi, Claude Code, Codex, opencode and Gemini CLI, in the places where these",
		"agents keep them or below the given folders. Each request counts once, also if several files hold it. Nothing leaves this machine.",
		"Days are in local time; a week is named by its Monday. Costs come from a table of list prices: they are",
		"not your invoice. Models without a known price are named and count in no sum of dollars.",
		"",
		"--csv prints one row for each day, agent, project and model, for a spreadsheet. What pi-strata saved in pi",
		"is estimated against pi alone, request by request; other agents are not in it.",
		"--since 7d is today and the six days before. --statusline prints one line about today, for a terminal's",
		"status bar. Results are cached for each file; strata clean --delete usage deletes them.",
	],
	options: { since: TEXT, by: TEXT, agent: TEXTS, json: FLAG, csv: FLAG, statusline: FLAG },
	maxArguments: 32,
	async run(options, words, terminal) {
		const nowMs = Date.now();
		const other = ["since", "by", "json", "csv"].find((name) => options[name] !== undefined);
		if (options.statusline && other) {
			throw new UsageError(`--statusline is one line about today; it does not take --${other}`);
		}
		if (options.csv && options.json) throw new UsageError("--csv and --json exclude each other");
		const by = chosen(String(options.by ?? "day"), GROUPINGS, "--by");
		const named = (options.agent as string[] | undefined)?.flatMap((list) => list.split(","));
		const agents = named?.map((name) => chosen(name, AGENT_NAMES, "--agent"));
		const sinceMs = options.statusline ? startOfDay(nowMs) : sinceFrom(options.since, nowMs);
		const { files, unreadable, places } = await chosenFiles(words, terminal);
		const account = new UsageAccount({ sinceMs, agents });
		const cache = await UsageCache.open(usageFolder(terminal.env));
		try {
			const scan = await scanUsage(files, {
				...(typeof cache !== "string" && { cache }),
				sinceMs,
				onUsage: (file, found) => account.add(file, found),
				onProgress: (bytes, ofBytes) =>
					terminal.progress?.(
						`reading sessions: ${Math.floor((100 * bytes) / Math.max(1, ofBytes))} %`,
					),
			});
			terminal.progress?.("");
			const report = account.report();
			if (options.statusline) {
				terminal.print(statusLine(report));
				return 0;
			}
			if (typeof cache !== "string") cache.forgetDeleted();
			const failed = [...unreadable, ...scan.failed].sort((a, b) => (a.file < b.file ? -1 : 1));
			const groups = groupRows(report.rows, by);
			const status = report.rows.length === 0 ? NOTHING_FOUND : 0;
			if (options.csv) {
				for (const line of csvText(report.rows)) terminal.print(line);
				return status;
			}
			// The book is about all sessions of pi on this machine.
			const isAboutPi = words.length === 0 && (!agents || agents.includes("pi"));
			const saved = isAboutPi ? await savedSince(sinceMs, terminal.env) : undefined;
			if (options.json) {
				const since = sinceMs !== undefined && { since: new Date(sinceMs).toISOString() };
				const { failed: _, ...read } = scan;
				const output = {
					...since,
					by,
					groups,
					...report,
					...(saved && { saved }),
					...read,
					failed,
				};
				terminal.print(terminalSafeJson(output));
				return status;
			}
			const lines = [
				...(files.length > 0 ? summaryText(report) : nothingIn(places)),
				...(saved ? savedText(saved) : []),
				...(groups.length > 0 ? ["", ...tableText(groups, by)] : []),
				...(report.dearest.length > 0 ? ["", DEAREST, ...dearestText(report.dearest)] : []),
				...failedText(failed),
			];
			for (const line of lines) terminal.print(line);
			if (typeof cache === "string") terminal.printError(`Not cached: ${plainText(cache, 300)}`);
			return status;
		} finally {
			if (typeof cache !== "string") cache.close();
		}
	},
};

function nothingIn(places: readonly string[]): string[] {
	return [
		"No session files in these folders:",
		...places.map((place) => `  ${plainText(place, 300)}`),
	];
}

const DEAREST = "The dearest requests:";

function chosen<Name extends string>(given: string, known: readonly Name[], option: string): Name {
	const found = known.find((name) => name === given);
	if (found) return found;
	throw new UsageError(`unknown ${option} "${given}"; ${hintFor(given, known)}`);
}

function sinceFrom(given: unknown, nowMs: number): number | undefined {
	if (given === undefined) return undefined;
	const sinceMs = sinceOf(String(given), nowMs);
	if (sinceMs !== undefined) return sinceMs;
	throw new UsageError(
		`--since "${given}" is no time; use a number of days (7d) or a date (2026-11-01)`,
	);
}

/** The named files and folders must exist. Of the known places, some usually do not. */
async function chosenFiles(words: readonly string[], { cwd, env }: Terminal) {
	if (words.length === 0) {
		const { files, unreadable, folders } = await knownFiles(env);
		return { files, unreadable, places: folders };
	}
	const files = new Set<string>();
	const unreadable: FailedFile[] = [];
	for (const word of words) {
		const path = resolve(cwd, word);
		const stats = await stat(path).catch((error: unknown) => {
			const why = errnoOf(error) === "ENOENT" ? "it does not exist" : describeError(error);
			throw new Error(`cannot read ${path}: ${why}`, { cause: error });
		});
		const found = stats.isDirectory()
			? await sessionFilesIn(path)
			: { files: [path], unreadable: [] };
		for (const file of found.files) files.add(file);
		unreadable.push(...found.unreadable);
	}
	return { files: [...files].sort(), unreadable, places: words };
}

/** How many bad files are listed; --json has all. */
const MOST_FAILED = 5;

function failedText(failed: readonly FailedFile[]): string[] {
	if (failed.length === 0) return [];
	const more = failed.length - MOST_FAILED;
	return [
		"",
		`${counted(failed.length, "file")} could not be read:`,
		...failed.slice(0, MOST_FAILED).map(({ reason }) => `  ${plainText(reason, 300)}`),
		...(more > 0 ? [`  … and ${more} more (--json lists all)`] : []),
	];
}
