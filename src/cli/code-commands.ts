import { statSync } from "node:fs";
import { resolve } from "node:path";
import type * as Kota from "../code/index.ts";
import { loadConfig } from "../core/config.ts";
import { agentFolder, projectRoot } from "../core/places.ts";
import {
	type Command,
	FLAG,
	type OptionValues,
	TEXT,
	TEXTS,
	type Terminal,
	UsageError,
} from "./command.ts";

type KotaDoor = typeof Kota;
type Topic = Parameters<KotaDoor["answerTo"]>[0];
type InputOf<Name extends Topic> = Parameters<typeof Kota.answerTo<Name>>[1];

interface CommandLine {
	readonly kota: KotaDoor;
	readonly toPath: (path: string) => string;
	readonly toTarget: (target: string) => InputOf<"outline">;
	readonly words: string[];
	readonly options: OptionValues;
}

const ROOT = { root: TEXT, json: FLAG } as const;
const ABOUT_ROOT = [
	"",
	"The project is the git repository of the current folder, or --root <folder>. Index it once with",
	"strata index. Paths in --json are relative to the project's root; lines and columns start at 1.",
];

export const search = question("search", {
	name: "search",
	usage: "<words…> [--limit <n>] [--output paths|compact|snippet] [--glob <pattern>] [--json]",
	options: { ...ROOT, limit: TEXT, output: TEXT, glob: TEXT },
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
});

export const deps = question("dependencies", {
	name: "deps",
	usage: "<file> [--direction dependents|dependencies|both] [--depth <n>] [--no-tests] [--json]",
	options: { ...ROOT, direction: TEXT, depth: TEXT, "no-tests": FLAG },
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
	options: ROOT,
	maxArguments: 1,
	input({ toTarget, words: [target] }) {
		if (target === undefined || target.trim() === "")
			throw new UsageError("no file or symbol given");
		return toTarget(target);
	},
});

export const symbol = question("symbol", {
	name: "symbol",
	usage: "<name|Owner.member|file#name> [--file <file>] [--json]",
	options: { ...ROOT, file: TEXT },
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
});

export const usages = question("usages", {
	name: "usages",
	usage: "<name|Owner.member> [--file <file>] [--no-tests] [--json]",
	options: { ...ROOT, file: TEXT, "no-tests": FLAG },
	maxArguments: 1,
	input({ toPath, words: [symbol], options }) {
		if (symbol === undefined || symbol.trim() === "") throw new UsageError("no symbol given");
		return {
			symbol,
			includeTests: options["no-tests"] !== true,
			...(typeof options.file === "string" && { file: toPath(options.file) }),
		};
	},
});

export const impact = question("impact", {
	name: "impact",
	usage: "<file…> [--create <file>]… [--delete <file>]… [--symbol <name>]… [--json]",
	options: { ...ROOT, create: TEXTS, delete: TEXTS, symbol: TEXTS },
	maxArguments: 50,
	input({ toPath, words, options }) {
		const files = (name: string) => ((options[name] as string[] | undefined) ?? []).map(toPath);
		const query = {
			modify: words.map(toPath),
			create: files("create"),
			delete: files("delete"),
			...(options.symbol !== undefined && { symbols: options.symbol as string[] }),
		};
		if (query.modify.length + query.create.length + query.delete.length === 0) {
			throw new UsageError("no changed file given");
		}
		return query;
	},
});

export const context = question("taskContext", {
	name: "context",
	usage: "<file…> [--symbols] [--no-tests] [--json]",
	options: { ...ROOT, symbols: FLAG, "no-tests": FLAG },
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
	options: { ...ROOT, tokens: TEXT },
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

function question<Name extends Topic>(
	topic: Name,
	{ input, ...command }: Omit<Command, "run"> & { input(line: CommandLine): InputOf<Name> },
): Command {
	return {
		details: ABOUT_ROOT,
		...command,
		run: (options, words, terminal) =>
			withProject(options, terminal, async ({ kota, project, caller }) => {
				const paths = {
					...kota.projectPaths(project.root, terminal.cwd),
					advice: kota.COMMAND_ADVICE,
				};
				const { find: toPath, target: toTarget } = paths;
				const given = input({ kota, toPath, toTarget, words, options });
				const { answer, render } = await kota.answerTo(topic, given, { project, paths, caller });
				show(options, terminal, answer, () => kota.wholeAnswer(render(Date.now())));
				return 0;
			}),
	};
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
	const open = () => kota.openEngine(config.kota, root, { inThisThread: true });
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

function show(options: OptionValues, terminal: Terminal, value: unknown, text: () => string): void {
	terminal.progress?.("");
	terminal.print(options.json ? JSON.stringify(value, null, 2) : text());
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

function wholeNumber(options: OptionValues, name: string): number | undefined {
	const value = options[name];
	if (value === undefined) return undefined;
	if (!/^[1-9]\d{0,8}$/.test(String(value))) {
		throw new UsageError(`--${name} must be a whole number of at least 1, got "${value}"`);
	}
	return Number(value);
}

function oneOf<Choice extends string>(options: OptionValues, name: string, choices: Choice[]) {
	const value = options[name];
	const found = choices.find((choice) => choice === value);
	if (found || value === undefined) return found;
	throw new UsageError(`--${name} must be one of ${choices.join(", ")}, got "${value}"`);
}
