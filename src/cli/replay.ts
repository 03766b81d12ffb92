import { open, readdir, stat } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { writeFileAtomic } from "../core/atomic-file.ts";
import { loadConfig } from "../core/config.ts";
import { describeError, errnoOf } from "../core/errno.ts";
import { getOrAdd } from "../core/get-or-add.ts";
import { agentFolder } from "../core/places.ts";
import {
	type FolderReport,
	findModel,
	knownModel,
	knownModels,
	type ReplayModel,
	type ReplayPolicy,
	type ReplayReport,
} from "../economy/replay/index.ts";
import { pruningPolicy } from "../pruning/index.ts";
import { plainText } from "../text/one-line.ts";
import { type Command, FLAG, hintFor, TEXT, TEXTS, type Terminal, UsageError } from "./command.ts";

type Replay = typeof import("../economy/replay/index.ts");

export const replay: Command = {
	name: "replay",
	usage: "<session.jsonl|folder> [--json] [--html <file>] [--model <id>] [--policy <name>…]",
	details: [
		"",
		"Reads one session file of pi, or all session files below a folder. Nothing leaves this machine.",
		"Costs are in uncached input tokens and do not include the model's answers. --html writes a page with",
		"charts, --model applies the prices and rules of another model, --policy compares only the named",
		"policies, separated by spaces or commas: no-cache, append-only, billed, read-cache, prune-each,",
		"prune-batch, strata, pruning, tiers, log.",
		"",
		"tiers and log are compared only when named. They lay out a working set, but a session file does not",
		"say which files the working set would have held. So log sends the session's own requests, and tiers",
		"lays out the history and every file that was read, in the literal tiers of the specification. This",
		"costs several times more than a working set.",
	],
	options: { json: FLAG, html: TEXT, model: TEXT, policy: TEXTS },
	maxArguments: 32,
	async run(options, words, terminal) {
		const tools = await import("../economy/replay/index.ts");
		const { tiersPolicy } = await import("../tiers/index.ts");
		const { logPolicy } = await import("../workset/index.ts");
		const { config } = loadConfig({ agentDir: agentFolder(terminal.env), cwd: terminal.cwd });
		const pruning = pruningPolicy(config.prune);
		const { path, policies } = chosenPolicies(words, options.policy as string[] | undefined, {
			usual: [...tools.replayPolicies, tools.strataPolicy(pruning), pruning],
			onlyNamed: [tiersPolicy(config.tiers), logPolicy],
		});
		const modelFor = modelsByName(options.model as string | undefined);
		const target = resolve(terminal.cwd, path);
		const found = await stat(target).catch(() => undefined); // reading it will report the error
		const isFolder = found?.isDirectory() === true;
		const { files, unreadable } = isFolder
			? await sessionFilesIn(target)
			: { files: [target], unreadable: [] };
		const page =
			options.html === undefined ? undefined : resolve(terminal.cwd, String(options.html));
		if (page !== undefined) await checkPage(page, tools);

		const sessions: FolderReport["sessions"][number][] = [];
		let dearest: ReplayReport[] = [];
		const lines: string[] = [];
		const failed: { file: string; reason: string }[] = [...unreadable];
		for (const file of files) {
			try {
				const report = await replayFile(file, { tools, policies, modelFor, terminal });
				const { chart: _, ...session } = report;
				sessions.push(session);
				if (page !== undefined) dearest = withDearest(dearest, report, tools.MOST_SESSIONS);
				if (!options.json) lines.push(...tools.reportText(report), "");
			} catch (error) {
				const reason = plainText(describeError(error), 1000);
				if (!isFolder) throw new Error(reason, { cause: error });
				failed.push({ file, reason });
			} finally {
				terminal.progress?.("");
			}
		}
		if (sessions.length === 0) throw new Error(plainText(nothingReplayed(target, failed), 1000));
		const folder = isFolder ? tools.combineReports(target, sessions, failed) : undefined;
		if (page !== undefined) await writePage(page, tools.reportHtml(dearest, folder));

		if (options.json) {
			terminal.print(terminalSafeJson(folder ?? sessions[0]));
		} else {
			if (folder) lines.push(...tools.folderText(folder));
			for (const line of lines) terminal.print(line);
			if (page !== undefined) terminal.print(`Charts: ${shownPath(page, terminal.cwd)}`);
		}
		return 0;
	},
};

interface ReplayFileOptions {
	readonly tools: Replay;
	readonly policies: readonly ReplayPolicy[];
	readonly modelFor: ReturnType<typeof modelsByName>;
	readonly terminal: Terminal;
}

async function replayFile(
	file: string,
	{ tools, policies, modelFor, terminal }: ReplayFileOptions,
): Promise<ReplayReport> {
	const shown = plainText(file); // file names are untrusted
	const session = await tools.readSessionFile(file, {
		onProgress: (bytes, ofBytes) =>
			terminal.progress?.(`reading ${shown}: ${Math.floor((100 * bytes) / ofBytes)} %`),
	});
	terminal.progress?.(`rebuilding the requests of ${shown} …`);
	const requests = tools.rebuildRequests(session, modelFor);
	if (requests.bills.length === 0) {
		const isCut = session.skipped.surplus > 0 ? " in the part that could be read" : "";
		throw new Error(
			`${file} has no request with token counts from a provider${isCut}, so there is nothing to replay`,
		);
	}
	return tools.buildReport(requests, {
		policies,
		onProgress: (policy) => terminal.progress?.(`replaying ${shown}: ${policy} …`),
	});
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
	if (path === undefined) throw new UsageError("no session file or folder given");
	if (surplus !== undefined) throw new UsageError(`unexpected argument "${surplus}"`);
	const listed = (named ?? []).flatMap((list) => list.split(","));
	const wanted = [...listed, ...words.filter((word) => !paths.includes(word))];
	for (const name of wanted) {
		if (names.includes(name)) continue;
		throw new UsageError(`unknown policy "${name}"; ${hintFor(name, names)}`);
	}
	const policies = named ? known.filter(({ name }) => wanted.includes(name)) : usual;
	return { path, policies };
}

function nothingReplayed(folder: string, failed: readonly { reason: string }[]): string {
	if (failed.length === 0) return `${folder} has no .jsonl files in it`;
	return `none of the ${failed.length} .jsonl files in ${folder} could be replayed; the first error: ${failed[0]?.reason}`;
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
function terminalSafeJson(value: unknown): string {
	return JSON.stringify(value, null, 2).replace(
		/[\u007f-\u009f]/g,
		(character) => `\\u00${character.charCodeAt(0).toString(16)}`,
	);
}

function shownPath(path: string, cwd: string): string {
	const shown = relative(cwd, path);
	return shown.startsWith("..") ? path : shown;
}

/** Maximum depth of folders. Pi nests its sessions two folders deep; a deeper tree is something else. */
const MAX_DEPTH = 4;
const MAX_FILES = 10_000;

/** Returns the `.jsonl` files below a folder, without following links. Rejects if `folder` is unreadable. */
export async function sessionFilesIn(folder: string) {
	const files: string[] = [];
	const unreadable: { file: string; reason: string }[] = [];
	await collect(folder, 1);
	return { files: files.sort(), unreadable };

	async function collect(at: string, depth: number): Promise<void> {
		for (const entry of await readdir(at, { withFileTypes: true })) {
			const path = join(at, entry.name);
			if (entry.isDirectory() && depth < MAX_DEPTH) {
				await collect(path, depth + 1).catch((error) => {
					if (errnoOf(error) === undefined) throw error;
					unreadable.push({ file: path, reason: describeError(error) });
				});
			}
			if (!entry.isFile() || !entry.name.endsWith(".jsonl")) continue;
			if (files.length === MAX_FILES) {
				throw new Error(`${folder} has more than ${MAX_FILES} sessions; use a subfolder`);
			}
			files.push(path);
		}
	}
}

/** Finds a model by its name in the session file. If the user `asked` for a model, returns that one. */
function modelsByName(asked: string | undefined): (name: ReplayModel["name"]) => ReplayModel {
	const instead = asked === undefined ? undefined : namedModel(asked);
	const found = new Map<string, ReplayModel>();
	return (name) => {
		const { provider, id } = instead ?? name;
		return getOrAdd(found, `${provider}/${id}`, () => knownModel({ provider, id }));
	};
}

function namedModel(asked: string): ReplayModel["name"] {
	const model = findModel(asked);
	if (model) return model;
	const known = [...new Set(knownModels.map(({ id }) => id))];
	const hint = hintFor(asked, known, "use its id as in pi, e.g. claude-opus-4-5");
	throw new UsageError(`unknown model "${asked}"; ${hint}`);
}
