import { statSync } from "node:fs";
import { resolve } from "node:path";
import type * as Kota from "../code/index.ts";
import { loadConfig } from "../core/config.ts";
import { agentFolder, projectRoot } from "../core/places.ts";
import { counted } from "../text/figures.ts";
import { oneLine } from "../text/one-line.ts";
import { type Command, type OptionValues, type Terminal, UsageError } from "./command.ts";

type KotaDoor = typeof Kota;

/** The project that a command is about, and how to name its files. */
interface Question {
	readonly kota: KotaDoor;
	readonly project: Kota.KotaProject;
	/** With advice for a person. */
	readonly paths: Kota.ProjectPaths & Kota.Reader;
	readonly asker: Kota.Asker;
	readonly words: string[];
	readonly options: OptionValues;
}

/** An answer as an object, and as lines for people. */
interface Answered {
	readonly value: unknown;
	readonly text: () => string;
	/** The exit status. Default: 0. */
	readonly status?: number;
}

const ROOT = { root: { type: "string" }, json: { type: "boolean" } } as const;
const ABOUT_ROOT = [
	"",
	"Answers for the project around the current folder (the git repository, or --root <folder>), which",
	"has to be indexed once: strata index. Paths in --json are relative to the project's root, lines",
	"and columns count from 1.",
];

const index = codeCommand({
	name: "index",
	summary: "Index the TypeScript and JavaScript of a project, or take in what changed.",
	usage: "[--root <folder>] [--json]",
	details: [
		"",
		"The index is kept in the user's cache folder; nothing is written to the project. An interrupted",
		"run goes on where it stopped.",
	],
	options: ROOT,
	async ask({ kota, project, asker }) {
		const report = await project.build(asker, "given");
		const text = () => kota.buildText(report, kota.commandAdvice);
		// What is in the memory of this process is gone with it.
		return { value: report, text, status: report.coverage.notStored ? 1 : 0 };
	},
});

const search = codeCommand({
	name: "search",
	summary: "Find files and symbols by words and names, best first.",
	usage: "<words…> [--limit <n>] [--output paths|compact|snippet] [--glob <pattern>] [--json]",
	options: {
		...ROOT,
		limit: { type: "string" },
		output: { type: "string" },
		glob: { type: "string" },
	},
	maxArguments: 32,
	async ask({ kota, project, paths, asker, words, options }) {
		const query = words.join(" ").trim();
		if (query === "") throw new UsageError("say what to look for: strata search <words…>");
		const input = kota.searchInput({
			query,
			scope: ["code", "symbols"],
			output: oneOf(options, "output", ["paths", "compact", "snippet"]) ?? "compact",
			...(options.limit !== undefined && { limit: wholeNumber(options, "limit") as number }),
			...(typeof options.glob === "string" && { filters: { glob: options.glob } }),
		});
		const answer = await project.ask(
			(code, more) => code.search(kota.searchQuery(input), more),
			asker,
		);
		return {
			value: answer,
			text: () => kota.wholeAnswer(kota.searchForms(answer, input, paths), answer),
		};
	},
});

const deps = codeCommand({
	name: "deps",
	summary: "Show what a file depends on, and what depends on it.",
	usage: "<file> [--direction dependents|dependencies|both] [--depth <n>] [--no-tests] [--json]",
	options: {
		...ROOT,
		direction: { type: "string" },
		depth: { type: "string" },
		"no-tests": { type: "boolean" },
	},
	maxArguments: 1,
	async ask({ kota, project, paths, asker, words: [file], options }) {
		if (file === undefined) throw new UsageError("name a file: strata deps <file>");
		const query = {
			path: paths.find(file),
			direction: oneOf(options, "direction", ["dependents", "dependencies", "both"]) ?? "both",
			depth: wholeNumber(options, "depth") ?? 1,
			includeTests: options["no-tests"] !== true,
		} as const;
		const answer = await project.ask((code, more) => code.dependencies(query, more), asker);
		return {
			value: answer,
			text: () => kota.wholeAnswer(kota.depsForms(answer, query, paths), answer),
		};
	},
});

const usages = codeCommand({
	name: "usages",
	summary: "Show where a symbol is used, for each definition of that name.",
	usage: "<name|Owner.member> [--file <file>] [--no-tests] [--json]",
	options: { ...ROOT, file: { type: "string" }, "no-tests": { type: "boolean" } },
	maxArguments: 1,
	async ask({ kota, project, paths, asker, words: [symbol], options }) {
		if (symbol === undefined || symbol.trim() === "")
			throw new UsageError("name a symbol: strata usages <name>");
		const query = {
			symbol,
			includeTests: options["no-tests"] !== true,
			...(typeof options.file === "string" && { file: paths.find(options.file) }),
		};
		const answer = await project.ask((code, more) => code.usages(query, more), asker);
		return {
			value: answer,
			text: () => kota.wholeAnswer(kota.usagesForms(answer, query, paths), answer),
		};
	},
});

const impact = codeCommand({
	name: "impact",
	summary: "Show what a change of files reaches, and which tests to run.",
	usage: "<file…> [--create <file>]… [--delete <file>]… [--symbol <name>]… [--json]",
	options: {
		...ROOT,
		create: { type: "string", multiple: true },
		delete: { type: "string", multiple: true },
		symbol: { type: "string", multiple: true },
	},
	maxArguments: 50,
	async ask({ kota, project, paths, asker, words, options }) {
		const files = (name: string) => ((options[name] as string[] | undefined) ?? []).map(paths.find);
		const query = {
			modify: words.map(paths.find),
			create: files("create"),
			delete: files("delete"),
			...(options.symbol !== undefined && { symbols: options.symbol as string[] }),
		};
		if (query.modify.length + query.create.length + query.delete.length === 0) {
			throw new UsageError("name what changes: strata impact <file…>");
		}
		const answer = await project.ask((code, more) => code.impact(query, more), asker);
		return {
			value: answer,
			text: () => kota.wholeAnswer(kota.impactForms(answer, paths), answer),
		};
	},
});

const context = codeCommand({
	name: "context",
	summary: "Show what to know before working on files: dependencies, dependents, tests.",
	usage: "<file…> [--symbols] [--no-tests] [--json]",
	options: { ...ROOT, symbols: { type: "boolean" }, "no-tests": { type: "boolean" } },
	maxArguments: 50,
	async ask({ kota, project, paths, asker, words, options }) {
		if (words.length === 0) throw new UsageError("name files: strata context <file…>");
		const query = {
			files: words.map(paths.find),
			includeTests: options["no-tests"] !== true,
			includeSymbols: options.symbols === true,
			maxImpactedFiles: 20,
		};
		const answer = await project.ask((code, more) => code.taskContext(query, more), asker);
		const forms = () => kota.taskContextForms(answer, query, paths);
		return { value: answer, text: () => kota.wholeAnswer(forms(), answer) };
	},
});

const map = codeCommand({
	name: "map",
	summary: "Print the most used files with their symbols, within a number of tokens.",
	usage: "[--tokens <n>] [--json]",
	options: { ...ROOT, tokens: { type: "string" } },
	async ask({ kota, project, asker, options }) {
		const budgetTokens = wholeNumber(options, "tokens") ?? 2000;
		const answer = await project.ask((code, more) => code.symbolMap({ budgetTokens }, more), asker);
		const lines = answer.blocks.flatMap(({ text }) => text.split("\n").map(oneLine));
		const left = answer.omittedFiles > 0 ? [`(${counted(answer.omittedFiles, "more file")})`] : [];
		const last = () => kota.coverageLine(answer.coverage, Date.now(), kota.commandAdvice);
		return { value: answer, text: () => [...lines, ...left, last()].join("\n") };
	},
});

/** The commands that ask the code index. */
export const codeCommands: Command[] = [index, search, deps, usages, impact, context, map];

/** Everything that these commands share: the project, consent, progress, and both forms of the answer. */
function codeCommand(
	command: Omit<Command, "run"> & { ask(question: Question): Promise<Answered> },
): Command {
	const { ask, ...rest } = command;
	return {
		...rest,
		details: command.details ?? ABOUT_ROOT,
		async run(options, words, terminal) {
			const kota = await import("../code/index.ts");
			const root = projectRoot(
				typeof options.root === "string" ? givenRoot(options.root, terminal.cwd) : terminal.cwd,
			);
			const { config } = loadConfig({ agentDir: agentFolder(terminal.env), cwd: root });
			const project = kota.createKotaProject({
				root,
				confirmIndex: config.kota.confirmIndex,
				open: () => kota.openEngine(config.kota, root),
			});
			try {
				const advice = kota.commandAdvice;
				const paths = { ...kota.projectPaths(root, terminal.cwd), advice };
				const asker = askerOf(kota, root, terminal);
				const answered = await ask({ kota, project, paths, asker, words, options });
				terminal.progress?.("");
				terminal.print(options.json ? JSON.stringify(answered.value, null, 2) : answered.text());
				return answered.status ?? 0;
			} finally {
				terminal.progress?.("");
				await project.close();
			}
		},
	};
}

/** The folder that `--root` names: anything else would silently stand for the project around it. */
function givenRoot(named: string, cwd: string): string {
	const folder = resolve(cwd, named);
	const found = statSync(folder, { throwIfNoEntry: false });
	if (!found) throw new UsageError(`--root ${named}: there is no such folder`);
	if (!found.isDirectory()) throw new UsageError(`--root ${named}: it is not a folder`);
	return folder;
}

function askerOf(kota: KotaDoor, root: string, { progress, confirm }: Terminal): Kota.Asker {
	return {
		...(progress && { onProgress: (step) => progress(kota.progressText(step)) }),
		...(confirm && { confirm: () => confirmIndexing(confirm, root) }),
	};
}

/** A no ends the command here: what the tools say of it is meant for a model. */
async function confirmIndexing(
	confirm: NonNullable<Terminal["confirm"]>,
	root: string,
): Promise<boolean> {
	if (await confirm(`${root} is not indexed yet. Index it now?`)) return true;
	throw new Error(`${root} stays without an index, so there is no answer: strata index makes one`);
}

function wholeNumber(options: OptionValues, name: string): number | undefined {
	const value = options[name];
	if (value === undefined) return undefined;
	if (!/^[1-9]\d{0,8}$/.test(String(value))) {
		throw new UsageError(`--${name} must be a whole number from 1, not "${value}"`);
	}
	return Number(value);
}

function oneOf<Choice extends string>(
	options: OptionValues,
	name: string,
	choices: readonly Choice[],
): Choice | undefined {
	const value = options[name];
	if (value === undefined) return undefined;
	const found = choices.find((choice) => choice === value);
	if (found) return found;
	throw new UsageError(`--${name} must be ${choices.join(", ")}, not "${value}"`);
}
