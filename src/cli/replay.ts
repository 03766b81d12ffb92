import { stat } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { writeFileAtomic } from "../core/atomic-file.ts";
import { describeError } from "../core/errno.ts";
import { nearest } from "../core/nearest.ts";
import { loadReplay, type ReplayPolicy, type ReplayReport } from "../economy/index.ts";
import { type Command, type Surroundings, UsageError } from "./command.ts";
import { modelsByName } from "./replay-models.ts";
import { sessionFilesIn } from "./session-files.ts";

type Replay = Awaited<ReturnType<typeof loadReplay>>;

/** `strata replay`: what sessions cost, and what they would have cost. */
export const replay: Command = {
	name: "replay",
	summary: "Show what a session cost, why caches missed, and what would have been cheaper.",
	usage: "<session.jsonl|folder> [--json] [--html <file>] [--model <id>] [--policy <name>…]",
	details: [
		"",
		"Reads a session file of pi, or every one below a folder, and nothing else; nothing leaves this",
		"machine. Costs are in plain input tokens and leave out the answers. --html writes one page with",
		"charts, --model takes the prices and rules of another model, --policy compares only those named:",
		"no-cache, append-only, billed, read-cache, prune-each, prune-batch, strata.",
	],
	options: {
		json: { type: "boolean" },
		html: { type: "string" },
		model: { type: "string" },
		policy: { type: "string", multiple: true },
	},
	maxArguments: 32,
	async run(options, words, around) {
		const tools = await loadReplay();
		const { path, policies } = chosen(words, options.policy as string[] | undefined, tools);
		const modelFor = modelsByName(options.model as string | undefined);
		const target = resolve(around.cwd, path);
		const isFolder = await stat(target).then(
			(stats) => stats.isDirectory(),
			() => false, // reading it will say what is wrong
		);
		const files = isFolder ? await sessionFilesIn(target) : [target];
		const page = options.html === undefined ? undefined : resolve(around.cwd, String(options.html));
		if (page !== undefined && files.includes(page)) {
			throw new UsageError(`--html would overwrite the session ${page}; name another file`);
		}

		const reports: ReplayReport[] = [];
		const failed: { file: string; reason: string }[] = [];
		for (const file of files) {
			try {
				reports.push(await replayFile(file, { tools, policies, modelFor, around }));
			} catch (error) {
				if (!isFolder) throw error;
				failed.push({ file, reason: describeError(error) });
			} finally {
				around.progress?.("");
			}
		}
		if (reports.length === 0) throw new Error(tools.plainText(nothingIn(target, failed), 1000));
		if (page !== undefined) await writeFileAtomic(page, tools.reportHtml(reports));

		if (options.json) {
			const { chart: _, ...single } = reports[0] as ReplayReport;
			const answer = isFolder ? tools.combineReports(target, reports, failed) : single;
			around.print(JSON.stringify(answer, null, 2));
		} else {
			for (const report of reports) print([...tools.reportText(report), ""], around);
			if (isFolder) print(tools.folderText(tools.combineReports(target, reports, failed)), around);
			if (page !== undefined) around.print(`Charts: ${relative(around.cwd, page) || page}`);
		}
		return 0;
	},
};

interface ReplayFileOptions {
	tools: Replay;
	policies: readonly ReplayPolicy[];
	modelFor: ReturnType<typeof modelsByName>;
	around: Surroundings;
}

async function replayFile(
	file: string,
	{ tools, policies, modelFor, around }: ReplayFileOptions,
): Promise<ReplayReport> {
	const shown = tools.plainText(file); // in a folder, names may be a stranger's
	const session = await tools.readSessionFile(file, {
		onProgress: (bytes, ofBytes) =>
			around.progress?.(`reading ${shown}: ${Math.floor((100 * bytes) / ofBytes)} %`),
	});
	around.progress?.(`rebuilding the requests of ${shown} …`);
	const requests = tools.rebuildRequests(session, modelFor);
	if (requests.bills.length === 0) {
		throw new Error(`${file} has no request with a bill, so there is nothing to replay`);
	}
	return tools.buildReport(requests, {
		policies,
		onProgress: (policy) => around.progress?.(`replaying ${shown}: ${policy} …`),
	});
}

/** `--policy a b` leaves b among the words, so words that name a policy belong to the option. */
function chosen(words: string[], named: string[] | undefined, { replayPolicies }: Replay) {
	const names = replayPolicies.map(({ name }) => name);
	const paths = words.filter((word) => named === undefined || !names.includes(word));
	const [path, surplus] = paths;
	if (path === undefined) throw new UsageError("name a session file or a folder of them");
	if (surplus !== undefined) throw new UsageError(`unexpected argument "${surplus}"`);
	const wanted = [...(named ?? []), ...words.filter((word) => !paths.includes(word))];
	for (const name of wanted) if (!names.includes(name)) throw unknownPolicy(name, names);
	const policies = replayPolicies.filter(({ name }) => !named || wanted.includes(name));
	return { path, policies };
}

function unknownPolicy(name: string, names: string[]): UsageError {
	const close = nearest(name, names);
	const hint = close ? `did you mean "${close}"?` : `known: ${names.join(", ")}`;
	return new UsageError(`unknown policy "${name}"; ${hint}`);
}

function nothingIn(folder: string, failed: readonly { reason: string }[]): string {
	if (failed.length === 0) return `${folder} has no .jsonl files in it`;
	return `none of the ${failed.length} .jsonl files in ${folder} could be replayed; the first: ${failed[0]?.reason}`;
}

function print(lines: readonly string[], around: Surroundings): void {
	for (const line of lines) around.print(line);
}
