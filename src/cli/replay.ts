import { open, stat } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { writeFileAtomic } from "../core/atomic-file.ts";
import { loadConfig } from "../core/config.ts";
import { describeError, errnoOf } from "../core/errno.ts";
import { agentFolder, projectRoot, realOrGiven } from "../core/places.ts";
import {
	type FolderReport,
	findModel,
	knownModels,
	type ModelName,
	type ReplayPolicy,
	type ReplayReport,
} from "../economy/replay/index.ts";
import type { FoundSession } from "../importers/index.ts";
import { plainText } from "../text/one-line.ts";
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
import type { ReplayJob } from "./replay-file.ts";

type Replay = typeof import("../economy/replay/index.ts");

export const replay: Command = {
	name: "replay",
	usage:
		"[session|folder] [--all] [--json] [--html <file>] [--model <id>] [--policy <name>…] | --find [--json]",
	details: [
		"",
		"Reads a session file of pi, Claude Code, Codex, opencode or Gemini CLI, or every one below a folder. A request that",
		"several files hold counts once. Without an argument, it takes the last session of this folder. Nothing leaves",
		"this machine. Costs are in dollars by list prices and in uncached input tokens, without the answers. It shows",
		"four policies, and the misses by cause; --all shows all policies, each miss and charts. --find lists the session",
		"files of this user's agents, the newest first. --html writes a page with charts, --model applies the prices and",
		"rules of another model, --policy compares only the named policies, separated by spaces or commas: no-cache,",
		"append-only, billed, read-cache, prune-each, prune-batch, clearing, ttl-auto, birth, quiet, strata, pruning,",
		"birth-quiet, birth-clearing, tiers, log.",
		"",
		"birth, quiet and birth-quiet shorten results before they are first sent: lines that an earlier result",
		"shows become references, and output of commands is folded. clearing lets the provider clear old",
		"results, ttl-auto chooses how long prompts are cached. birth-quiet and birth-clearing are compared",
		"only when named.",
		"",
		"tiers and log are compared only when named. They lay out a working set, but a session file does not",
		"say which files the working set would have held. So log sends the session's own requests, and tiers",
		"lays out the history and every file that was read, in the literal tiers of the specification. This",
		"costs several times more than a working set.",
	],
	options: { all: FLAG, json: FLAG, html: TEXT, model: TEXT, policy: TEXTS, find: FLAG },
	maxArguments: 32,
	async run(options, words, terminal) {
		if (options.find === true) return printFound(options.json === true, words, terminal);
		const tools = await import("../economy/replay/index.ts");
		const { policiesWith } = await import("./replay-file.ts");
		const { config } = loadConfig({ agentDir: agentFolder(terminal.env), cwd: terminal.cwd });
		const named = options.policy as string[] | undefined;
		const chosen = chosenPolicies(words, named, policiesWith(config));
		const path = chosen.path ?? (await lastSession(terminal));
		if (path === undefined) {
			terminal.printError(
				"strata replay: no session of an agent worked in this folder; name a file, or see --find",
			);
			return NOTHING_FOUND;
		}
		const { policies } = chosen;
		const brief = { shown: named ? policies : BRIEF_POLICIES };
		const model = options.model === undefined ? undefined : namedModel(String(options.model));
		const target = resolve(terminal.cwd, path);
		const found = await stat(target).catch(() => undefined); // reading it will report the error
		const isFolder = found?.isDirectory() === true;
		const { findSessionFiles, inOrderOfStart } = await import("../importers/index.ts");
		const { files, unreadable } = isFolder
			? await findSessionFiles(target)
			: { files: [target], unreadable: [] };
		if (files.length === 0 && unreadable.length === 0) {
			terminal.printError(
				`strata replay: ${plainText(target, 500)} has no .jsonl files in it, and no .json or .db`,
			);
			return NOTHING_FOUND;
		}
		const page =
			options.html === undefined ? undefined : resolve(terminal.cwd, String(options.html));
		if (page !== undefined) await checkPage(page, tools);

		const sessions: FolderReport["sessions"][number][] = [];
		let dearest: ReplayReport[] = [];
		const lines: string[] = [];
		const failed: { file: string; reason: string }[] = [...unreadable];
		let copies = 0;
		const { birth, prune, tiers } = config;
		const settings = { birth, prune, tiers };
		const job = { policies, settings, model };
		const { replayFiles } = await import("./replay-folder.ts");
		const inOrder = isFolder ? inOrderOfStart(files) : files;
		const jobs: ReplayJob[] = [];
		for (const file of inOrder) jobs.push({ ...job, path: file, size: await sizeOf(file) });
		try {
			await replayFiles(jobs, {
				onProgress: (line) => terminal.progress?.(line),
				onReplayed({ reports, billed }) {
					if (reports.length === 0) copies += billed;
					const whole = tools.joinReports(reports);
					for (const report of isFolder || !whole ? reports : [whole]) {
						const { chart: _, ...session } = report;
						sessions.push(session);
						if (page !== undefined) dearest = withDearest(dearest, report, tools.MOST_SESSIONS);
						if (options.json || (isFolder && !options.all)) continue;
						lines.push(
							...(options.all ? tools.reportText(report) : tools.briefText(report, brief)),
							"",
						);
					}
				},
				onFailure(file, error) {
					const reason = plainText(describeError(error), 1000);
					if (!isFolder) throw new Error(reason, { cause: error });
					failed.push({ file, reason });
				},
			});
		} finally {
			terminal.progress?.("");
		}
		if (sessions.length === 0)
			throw new Error(plainText(nothingReplayed(target, failed, copies), 1000));
		const folder = isFolder ? tools.combineReports(target, sessions, failed, copies) : undefined;
		if (page !== undefined) await writePage(page, tools.reportHtml(dearest, folder));

		if (options.json) {
			terminal.print(terminalSafeJson(folder ?? sessions[0]));
		} else {
			if (folder)
				lines.push(
					...(options.all ? tools.folderText(folder) : tools.briefFolderText(folder, brief)),
				);
			for (const line of lines) terminal.print(line);
			if (page !== undefined) terminal.print(`Charts: ${shownPath(page, terminal.cwd)}`);
		}
		return 0;
	},
};

/** What was paid, what the agent's own requests should have cost, ours, and what caching saves at all. */
const BRIEF_POLICIES = ["billed", "append-only", "strata", "no-cache"];

/** The session that was used last in this folder or above it, up to its repository; of any agent. */
async function lastSession({ env, cwd }: Terminal): Promise<string | undefined> {
	const { findSessions } = await import("../importers/index.ts");
	const [here, root] = [realOrGiven(cwd), realOrGiven(projectRoot(cwd))];
	const found = (await findSessions(env)).filter(({ project }) => project !== undefined);
	const at = (folder: string) =>
		found.find(({ project }) => realOrGiven(project as string) === folder)?.file;
	return at(here) ?? at(root);
}

/** 0 if unknown: reading the file will report the error. */
async function sizeOf(file: string): Promise<number> {
	const stats = await stat(file).catch(() => undefined);
	return stats?.size ?? 0;
}

/** Rows on the terminal; `--json` has all. */
const MOST_FOUND = 50;

async function printFound(json: boolean, words: string[], terminal: Terminal): Promise<number> {
	if (words.length > 0) throw new UsageError(`unexpected argument "${words[0]}"`);
	const { findSessions } = await import("../importers/index.ts");
	const found = await findSessions(terminal.env);
	if (json) terminal.print(terminalSafeJson({ sessions: found }));
	else for (const line of foundText(found)) terminal.print(line);
	return found.length > 0 ? 0 : NOTHING_FOUND;
}

function foundText(found: readonly FoundSession[]): string[] {
	if (found.length === 0)
		return ["No session files of pi, Claude Code, Codex, opencode or Gemini CLI."];
	const rows = found.slice(0, MOST_FOUND).flatMap(({ agent, file, project, lastUseMs, bytes }) => {
		const used = new Date(lastUseMs).toISOString().slice(0, 16).replace("T", " ");
		const size = `${(bytes / 1e6).toFixed(1)} MB`;
		const head = `${used}  ${agent.padEnd(11)}  ${size.padStart(9)}  ${plainText(project ?? "", 200)}`;
		return [head.trimEnd(), `    ${plainText(file, 500)}`];
	});
	rows.unshift("last use (UTC)    agent             size  project");
	const more = found.length - MOST_FOUND;
	return more > 0 ? [...rows, `${more} older ones are in --json.`] : rows;
}

/** In `--policy a b`, b is parsed as a word. So words that name a policy count as policies. */
function chosenPolicies(
	words: string[],
	named: string[] | undefined,
	{ usual, onlyNamed }: { usual: readonly ReplayPolicy[]; onlyNamed: readonly ReplayPolicy[] },
) {
	const known = [...usual, ...onlyNamed];
	const names = known.map(({ name }) => name);
	const paths = words.filter((word) => named === undefined || !names.includes(word));
	const [path, surplus] = paths;
	if (surplus !== undefined) throw new UsageError(`unexpected argument "${surplus}"`);
	const listed = (named ?? []).flatMap((list) => list.split(","));
	const wanted = [...listed, ...words.filter((word) => !paths.includes(word))];
	for (const name of wanted) {
		if (names.includes(name)) continue;
		throw new UsageError(`unknown policy "${name}"; ${hintFor(name, names)}`);
	}
	return { path, policies: named ? wanted : usual.map(({ name }) => name) };
}

function nothingReplayed(
	folder: string,
	failed: readonly { reason: string }[],
	copies: number,
): string {
	if (copies > 0) return `${folder} has only requests that other sessions made`;
	return `none of the ${failed.length} files in ${folder} could be replayed; the first error: ${failed[0]?.reason}`;
}

/** Refuses to overwrite a file that replay did not write, perhaps the session itself. */
async function checkPage(page: string, { PAGE_MARK }: Replay): Promise<void> {
	const stats = await stat(page).catch(() => undefined); // writing it will report the error
	if (!stats) return;
	if (!stats.isFile()) throw new UsageError(`--html needs a file, but ${page} is not one`);
	const handle = await open(page);
	try {
		const { buffer, bytesRead } = await handle.read(Buffer.alloc(1000), 0, 1000, 0);
		if (bytesRead === 0 || buffer.includes(PAGE_MARK)) return;
	} finally {
		await handle.close();
	}
	throw new UsageError(
		`--html would overwrite ${page}, which strata replay did not write; choose another file`,
	);
}

/** The error names the page. The file system's own error would name the temporary file. */
async function writePage(page: string, content: string): Promise<void> {
	await writeFileAtomic(page, content).catch((error: unknown) => {
		const why = errnoOf(error) ?? describeError(error);
		throw new Error(`cannot write ${page} (${why})`, { cause: error });
	});
}

/** Charts take memory and a page shows few sessions, so only the most expensive are kept. */
function withDearest(reports: ReplayReport[], report: ReplayReport, most: number): ReplayReport[] {
	if (reports.length < most) return [...reports, report];
	const cost = ({ check }: ReplayReport) => check.billed;
	const all = [...reports, report];
	const cheapest = all.reduce((least, next) => (cost(next) < cost(least) ? next : least));
	return all.filter((one) => one !== cheapest);
}

/** JSON escapes C0 controls but not C1, which also move the cursor of some terminals. */
export function terminalSafeJson(value: unknown): string {
	return JSON.stringify(value, null, 2).replace(
		/[\u007f-\u009f]/g,
		(character) => `\\u00${character.charCodeAt(0).toString(16)}`,
	);
}

function shownPath(path: string, cwd: string): string {
	const shown = relative(cwd, path);
	return shown.startsWith("..") ? path : shown;
}

function namedModel(asked: string): ModelName {
	const model = findModel(asked);
	if (model) return model;
	const known = [...new Set(knownModels.map(({ id }) => id))];
	const hint = hintFor(asked, known, "use its id as in pi, e.g. claude-opus-4-5");
	throw new UsageError(`unknown model "${asked}"; ${hint}`);
}
