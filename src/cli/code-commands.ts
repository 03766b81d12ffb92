import { statSync } from "node:fs";
import { resolve } from "node:path";
import type * as Kota from "../code/index.ts";
import type * as Index from "../codeindex/index.ts";
import { boundedLines, colouredLine } from "../core/bounded-lines.ts";
import { coloursFor } from "../core/colours.ts";
import { loadConfig } from "../core/config.ts";
import { describeError } from "../core/errno.ts";
import { agentFolder, projectRoot } from "../core/places.ts";
import { searchLines, usageLines } from "./answer-text.ts";
import {
	type Command,
	FLAG,
	NOTHING_FOUND,
	type OptionValues,
	TEXT,
	TEXTS,
	type Terminal,
	UsageError,
} from "./command.ts";
import { oneOf, wholeNumber } from "./option-values.ts";

type KotaDoor = typeof Kota;
type Topic = Parameters<KotaDoor["answerTo"]>[0];
type AnswerOf<Name extends Topic> = Index.AnswerOf<Name>;
type InputOf<Name extends Topic> = Parameters<typeof Kota.answerTo<Name>>[1];

interface CommandLine {
	readonly kota: KotaDoor;
	readonly toPath: (path: string) => string;
	readonly toTarget: (target: string) => InputOf<"outline">;
	readonly words: string[];
	readonly options: OptionValues;
	/** Of the project. */
	readonly root: string;
}

const ROOT = { root: TEXT, json: FLAG } as const;
const QUESTION = { ...ROOT, all: FLAG, "max-bytes": TEXT } as const;
const ABOUT_ROOT = [
	"",
	"The project is the git repository of the current folder, or --root <folder>. Index it once with",
	"strata index. Paths in --json are relative to the project's root; lines and columns start at 1.",
	"Answers stop at 16,000 bytes. --max-bytes <n> sets another limit, --all removes it; --json has everything.",
	"The exit status is 3 if nothing was found.",
];

export const search = question("search", {
	name: "search",
	usage: "<words…> [--limit <n>] [--output paths|compact|snippet] [--glob <pattern>] [--json]",
	options: { ...QUESTION, limit: TEXT, output: TEXT, glob: TEXT },
	maxArguments: 32,
	input({ kota, words, options }) {
		const query = words.join(" ").trim();
		if (query === "") throw new UsageError("no words to search for");
		return kota.searchInput({
			query,
			scope: ["code", "symbols"],
			output: oneOf(options, "output", ["paths", "compact", "snippet"]) ?? "compact",
			...(options.limit !== undefined && { limit: wholeNumber(options, "limit") as number }),
			...(typeof options.glob === "string" && { filters: { glob: options.glob } }),
		});
	},
	isEmpty: ({ hits }) => hits.length === 0,
	placeLines: searchLines,
});

export const deps = question("dependencies", {
	name: "deps",
	usage: "<file> [--direction dependents|dependencies|both] [--depth <n>] [--no-tests] [--json]",
	options: { ...QUESTION, direction: TEXT, depth: TEXT, "no-tests": FLAG },
	maxArguments: 1,
	input({ toPath, words: [file], options }) {
		if (file === undefined) throw new UsageError("no file given");
		return {
			path: toPath(file),
			direction: oneOf(options, "direction", ["dependents", "dependencies", "both"]) ?? "both",
			depth: wholeNumber(options, "depth") ?? 1,
			includeTests: options["no-tests"] !== true,
		};
	},
});

export const outline = question("outline", {
	name: "outline",
	usage: "<file|name|Owner.member|file#name> [--json]",
	options: QUESTION,
	maxArguments: 1,
	input({ toTarget, words: [target] }) {
		if (target === undefined || target.trim() === "")
			throw new UsageError("no file or symbol given");
		return toTarget(target);
	},
	isEmpty: ({ outlines }) => outlines.length === 0,
});

export const symbol = question("symbol", {
	name: "symbol",
	usage: "<name|Owner.member|file#name> [--file <file>] [--json]",
	options: { ...QUESTION, file: TEXT },
	maxArguments: 1,
	input({ toPath, toTarget, words: [target], options }) {
		if (target === undefined || target.trim() === "") throw new UsageError("no symbol given");
		if (typeof options.file === "string") return { symbol: target, file: toPath(options.file) };
		const { symbol: name, file } = toTarget(target);
		if (name === undefined) {
			throw new UsageError(`${target} is a file: name a symbol in it, as in ${target}#name`);
		}
		return { symbol: name, ...(file !== undefined && { file }) };
	},
	isEmpty: ({ definitions }) => definitions.length === 0,
});

export const usages = question("usages", {
	name: "usages",
	usage: "<name|Owner.member> [--file <file>] [--no-tests] [--json]",
	options: { ...QUESTION, file: TEXT, "no-tests": FLAG },
	maxArguments: 1,
	input({ toPath, words: [symbol], options }) {
		if (symbol === undefined || symbol.trim() === "") throw new UsageError("no symbol given");
		return {
			symbol,
			includeTests: options["no-tests"] !== true,
			...(typeof options.file === "string" && { file: toPath(options.file) }),
		};
	},
	isEmpty: ({ definitions }) => definitions.length === 0,
	placeLines: usageLines,
});

export const impact = question("impact", {
	name: "impact",
	usage:
		"<file…> | --changed [--since <branch>] [--tests] [--create <file>]… [--delete <file>]… [--symbol <name>]… [--json]",
	details: [
		"",
		"--changed takes the files that git sees as changed since the last commit, new ones included; with --since main,",
		"since the branch left main. --tests prints only the tests to run, one path in a line, for hooks and CI:",
		"  tests=$(strata impact --changed --since main --tests) && npx vitest run $tests",
		...ABOUT_ROOT,
	],
	options: {
		...QUESTION,
		changed: FLAG,
		since: TEXT,
		tests: FLAG,
		create: TEXTS,
		delete: TEXTS,
		symbol: TEXTS,
	},
	maxArguments: 50,
	async input({ toPath, words, options, root }) {
		const files = (name: string) => ((options[name] as string[] | undefined) ?? []).map(toPath);
		const { since } = options;
		if (since !== undefined && !options.changed) throw new UsageError("--since needs --changed");
		const changed = options.changed ? await gitChanges(root, since as string | undefined) : NONE;
		const query = {
			modify: [...words.map(toPath), ...changed.modify],
			create: files("create"),
			delete: [...files("delete"), ...changed.delete],
			...(options.symbol !== undefined && { symbols: options.symbol as string[] }),
		};
		if (query.modify.length + query.create.length + query.delete.length === 0) {
			if (options.changed) return undefined;
			throw new UsageError("no changed file given");
		}
		return query;
	},
	nothing: "no file of the index has changed",
	isEmpty: ({ tests }, { tests: onlyTests }) => onlyTests === true && tests.length === 0,
	onlyLines: ({ tests }, { options, show }) =>
		options.tests ? tests.map(({ path }) => show(path)) : undefined,
});

const NONE = { modify: [], delete: [] };

async function gitChanges(root: string, since: string | undefined) {
	const { changedFiles } = await import("./changed-files.ts");
	return await changedFiles(root, since);
}

export const context = question("taskContext", {
	name: "context",
	usage: "<file…> [--symbols] [--no-tests] [--json]",
	options: { ...QUESTION, symbols: FLAG, "no-tests": FLAG },
	maxArguments: 50,
	input({ toPath, words, options }) {
		if (words.length === 0) throw new UsageError("no file given");
		return {
			files: words.map(toPath),
			includeTests: options["no-tests"] !== true,
			includeSymbols: options.symbols === true,
			maxImpactedFiles: 20,
		};
	},
});

export const map = question("symbolMap", {
	name: "map",
	usage: "[--tokens <n>] [--json]",
	options: { ...QUESTION, tokens: TEXT },
	input: ({ options }) => ({ budgetTokens: wholeNumber(options, "tokens") ?? 2000 }),
});

export const index: Command = {
	name: "index",
	usage: "[--root <folder>] [--json]",
	details: [
		"",
		"The index is stored in the user's cache folder; nothing is written to the project. An interrupted",
		"run resumes where it stopped.",
	],
	options: ROOT,
	run: (options, _, terminal) =>
		withProject(options, terminal, async ({ kota, project, caller }) => {
			const report = await project.build(caller, "given");
			show(options, terminal, report, () => kota.buildText(report, kota.COMMAND_ADVICE));
			// Fails if the index was not stored, since an index in memory ends with this process.
			return report.coverage.notStored ? 1 : 0;
		}),
};

interface Question<Name extends Topic> extends Omit<Command, "run"> {
	/** `undefined` if there is nothing to ask about. */
	input(line: CommandLine): InputOf<Name> | undefined | Promise<InputOf<Name> | undefined>;
	/** Whether the answer holds nothing. */
	isEmpty?(answer: AnswerOf<Name>, options: OptionValues): boolean;
	/** The message without an argument. */
	readonly nothing?: string;
	/** One line for each place, at a terminal. */
	placeLines?(answer: AnswerOf<Name>, shown: Parameters<typeof searchLines>[1]): string[];
	/** All that is printed; `undefined` for the usual text. */
	onlyLines?(
		answer: AnswerOf<Name>,
		asked: { options: OptionValues; show(path: string): string },
	): string[] | undefined;
}

function question<Name extends Topic>(topic: Name, asked: Question<Name>): Command {
	const { input, isEmpty, placeLines, onlyLines, nothing = "nothing to ask", ...command } = asked;
	return {
		details: ABOUT_ROOT,
		...command,
		run: (options, words, terminal) =>
			withProject(options, terminal, async ({ kota, project, caller }) => {
				const maxBytes = maxBytesIn(options);
				const { root } = project;
				const paths = { ...kota.projectPaths(root, terminal.cwd), advice: kota.COMMAND_ADVICE };
				const { find: toPath, target: toTarget } = paths;
				const given = await input({ kota, toPath, toTarget, words, options, root });
				if (given === undefined) return nothingFound(terminal, nothing);
				const answered = await kota
					.answerTo(topic, given, { project, paths, caller })
					.catch((error: unknown) => {
						// Git knows files that the index does not: documents, pictures.
						if (options.changed && /is not in the index/.test(describeError(error)))
							return undefined;
						throw error;
					});
				if (!answered) return nothingFound(terminal, nothing);
				const answer = answered.answer as AnswerOf<Name>;
				const isNothing = isEmpty?.(answer, options) === true;
				show(options, terminal, answer, () => {
					const colours = coloursFor(terminal.isColoured);
					const only = onlyLines?.(answer, { options, show: paths.show });
					if (only) return only.join("\n");
					const text = kota.wholeAnswer(answered.render(Date.now()));
					const hasPlaces = terminal.isColoured && placeLines && !isNothing;
					const usual = text.split("\n").map((line) => colouredLine(line, colours));
					const lines = hasPlaces
						? [...placeLines(answer, { show: paths.show, colours }), ...usual.slice(-1)]
						: usual;
					return boundedLines(lines, maxBytes).join("\n");
				});
				// The answer is there. The rest of a first indexing is done now rather than by the next question.
				if (answer.coverage.pending !== undefined) await project.build(caller, "given");
				return isNothing ? NOTHING_FOUND : 0;
			}),
	};
}

function nothingFound(terminal: Terminal, why: string): number {
	terminal.printError(why);
	return NOTHING_FOUND;
}

interface OpenedProject {
	readonly kota: KotaDoor;
	readonly project: Kota.CodeProject;
	readonly caller: Kota.Caller;
}

async function withProject(
	options: OptionValues,
	terminal: Terminal,
	use: (opened: OpenedProject) => Promise<number>,
): Promise<number> {
	const kota = await import("../code/index.ts");
	const root = projectRoot(startFolder(options.root, terminal.cwd));
	const { config } = loadConfig({ agentDir: agentFolder(terminal.env), cwd: root });
	const { confirmIndex } = config.kota;
	// A thread of its own would start slower than it answers one question.
	const { exclude } = config.readcache;
	const open = () => kota.openEngine(config.kota, root, { exclude, inThisThread: true });
	const project = new kota.CodeProject({ root, confirmIndex, open });
	const { confirm, progress } = terminal;
	const caller: Kota.Caller = {
		...(progress && { onProgress: (step) => progress(kota.progressText(step)) }),
		...(confirm && { confirm: () => confirmIndexing(confirm, root) }),
	};
	try {
		return await use({ kota, project, caller });
	} finally {
		terminal.progress?.("");
		await project.close();
	}
}

/** A text without a line is not printed. */
function show(options: OptionValues, terminal: Terminal, value: unknown, text: () => string): void {
	terminal.progress?.("");
	const shown = options.json ? JSON.stringify(value, null, 2) : text();
	if (shown !== "") terminal.print(shown);
}

/** Rejects a `--root` that is not a folder; it would silently select the project around it. */
function startFolder(named: OptionValues[string], cwd: string): string {
	if (typeof named !== "string") return cwd;
	const folder = resolve(cwd, named);
	const found = statSync(folder, { throwIfNoEntry: false });
	if (!found) throw new UsageError(`--root ${named}: no such folder`);
	if (!found.isDirectory()) throw new UsageError(`--root ${named}: not a folder`);
	return folder;
}

/** A refusal ends the command here, since the tools' text about it is written for a model. */
async function confirmIndexing(confirm: NonNullable<Terminal["confirm"]>, root: string) {
	if (await confirm(`${root} is not indexed yet. Index it now?`)) return true;
	throw new Error(`${root} was not indexed, so there is no answer; run "strata index" to index it`);
}

/** About 200 lines. */
const DEFAULT_MAX_BYTES = 16_000;
const LEAST_BYTES = 200;

/** What `--all` and `--max-bytes` allow. */
function maxBytesIn(options: OptionValues): number {
	const given = options["max-bytes"];
	if (options.all && given !== undefined) {
		throw new UsageError("--all and --max-bytes exclude each other");
	}
	if (options.all) return Number.POSITIVE_INFINITY;
	if (given === undefined) return DEFAULT_MAX_BYTES;
	return wholeNumber(options, "max-bytes", LEAST_BYTES) as number;
}
