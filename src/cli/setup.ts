import { shownPath } from "../core/places.ts";
import { unifiedDiff } from "../readcache/diff/unified.ts";
import {
	AGENTS,
	type AgentPlan,
	agentNamed,
	applyFile,
	applyUndo,
	findAgents,
	Manifest,
	planAgent,
	planUndo,
	setupFolder,
} from "../setup/index.ts";
import { oneLine, plainText } from "../text/one-line.ts";
import { isListening, machineOf, wishOf } from "./agent-wish.ts";
import {
	type Command,
	FLAG,
	hintFor,
	type OptionValues,
	TEXT,
	type Terminal,
	UsageError,
} from "./command.ts";
import { oneOf, portIn, SAVINGS } from "./option-values.ts";

const DEFAULT_PORT = 3142;
const NAMES = AGENTS.map(({ name }) => name);

export const setup: Command = {
	name: "setup",
	usage: "[agent…] [--undo] [--dry-run] [--yes] [--savings off|shadow|birth] [--proxy] [--json]",
	details: [
		"",
		"Finds the agents on this machine, shows what it would change in their configurations, asks, and writes:",
		"the server strata mcp for each of them, and for Claude Code a hook that counts what shorter results would",
		"save. It writes by the agent's own command where there is one that works offline, else by an edit that",
		"keeps comments and formatting. A file that it cannot read or edit exactly is left alone.",
		`Agents: ${NAMES.join(", ")}. pi is set up only when it is named.`,
		"--undo restores every file byte for byte. If the agent has written its file since, only our keys are removed.",
		"--dry-run only shows the changes. --yes does not ask; it is needed without a terminal.",
		"--savings birth lets the hook, and a plugin in opencode, shorten results before they are first sent; shadow",
		"only counts, off adds no hook. Unless given, a hook that is there stays as it is.",
		`--proxy also sets base URLs that lead to strata proxy (--port, ${DEFAULT_PORT}): such an agent needs it to run.`,
		"--json prints the changes for programs.",
	],
	options: {
		...{ undo: FLAG, "dry-run": FLAG, yes: FLAG, json: FLAG },
		...{ savings: TEXT, proxy: FLAG, port: TEXT },
	},
	maxArguments: AGENTS.length,
	words: NAMES,
	async run(options, words, terminal) {
		const named = words.map((word) => {
			const agent = agentNamed(word);
			if (agent) return agent.name;
			throw new UsageError(`unknown agent "${word}"; ${hintFor(word, NAMES)}`);
		});
		const asked = askedIn(options);
		const mayWrite = options.yes === true || terminal.confirm !== undefined;
		if (!options["dry-run"] && (!mayWrite || (options.json && !options.yes))) {
			const why = options.json ? "--json does not ask" : "cannot ask without a terminal";
			throw new UsageError(`${why}; add --yes to write, or --dry-run to see the changes`);
		}
		const manifest = await Manifest.load(setupFolder(machineOf(terminal).piFolder));
		const task = { options, named, manifest, terminal };
		return options.undo ? await undo(task) : await add(task, asked);
	},
};

interface Task {
	readonly options: OptionValues;
	readonly named: readonly string[];
	readonly manifest: Manifest;
	readonly terminal: Terminal;
}

function askedIn(options: OptionValues) {
	const { proxy, port, undo } = options;
	const savings = oneOf(options, "savings", SAVINGS);
	if (port !== undefined && !proxy) throw new UsageError("--port needs --proxy");
	const number = portIn(port ?? DEFAULT_PORT);
	if (undo && (proxy || savings !== undefined)) {
		throw new UsageError("--undo takes everything back; leave out --proxy and --savings");
	}
	return { savings, proxy: proxy ? `http://127.0.0.1:${number}` : undefined };
}

async function add(task: Task, asked: ReturnType<typeof askedIn>): Promise<number> {
	const { options, named, manifest, terminal } = task;
	const found = await findAgents(machineOf(terminal));
	const missing = found.filter(
		({ agent, isInstalled }) => named.includes(agent.name) && !isInstalled,
	);
	const chosen = found.filter(({ agent, isInstalled }) =>
		named.length > 0
			? isInstalled && named.includes(agent.name)
			: isInstalled && !agent.isNamedOnly,
	);
	const plans: AgentPlan[] = [];
	for (const one of chosen) plans.push(await planAgent(one, wishOf(terminal, asked), manifest));
	const changes = plans.flatMap(({ found, files }) => files.map((file) => ({ found, file })));
	const report = await Promise.all(plans.map(reportOf));
	const { print } = terminal;
	if (!options.json) {
		for (const one of report) for (const line of linesOf(one)) print(line);
		if (named.length === 0 && chosen.length === 0)
			for (const line of nothingFound(found)) print(line);
		for (const { agent, place } of missing) {
			print(
				`${agent.title} was not found: no program "${agent.programs[0]}", no ${shownPath(place.folder)}`,
			);
		}
	}
	const isWriting = changes.length > 0 && (await isAgreed(task, changes.length));
	const outcomes = [];
	if (isWriting) {
		for (const { found, file } of changes) {
			outcomes.push(await applyFile(file, found, manifest, terminal.env));
		}
	}
	const isFailed = missing.length > 0 || outcomes.some(({ kind }) => kind === "left");
	if (options.json) {
		const absent = missing.map(({ agent }) => agent.name);
		print(JSON.stringify({ agents: report, missing: absent, outcomes }, null, 2));
		return isFailed ? 1 : 0;
	}
	for (const { note } of outcomes) if (note !== undefined) print(note);
	if (isWriting) for (const line of farewell(plans, outcomes.length)) print(line);
	if (asked.proxy !== undefined && isWriting && !(await isListening(asked.proxy))) {
		print(
			`No proxy runs at ${asked.proxy}: start strata proxy, or these agents cannot reach their models.`,
		);
	}
	return isFailed ? 1 : 0;
}

/** Why there is nothing to set up, where no agent is named. */
function* nothingFound(found: Awaited<ReturnType<typeof findAgents>>): Generator<string> {
	const byName = found.filter(({ agent, isInstalled }) => isInstalled && agent.isNamedOnly);
	const known = AGENTS.filter(({ isNamedOnly }) => byName.length === 0 || !isNamedOnly);
	const none = byName.length === 0 ? "No agent" : "No other agent";
	yield `${none} was found. Known: ${known.map(({ title }) => title).join(", ")}.`;
	for (const { agent } of byName) {
		yield `To set up ${agent.title}, name it: strata setup ${agent.name}`;
	}
}

async function undo({ options, named, manifest, terminal }: Task): Promise<number> {
	const isNamed = (agent: string) => named.length === 0 || named.includes(agent);
	const records = manifest.files.filter(({ agent }) => isNamed(agent)).toReversed();
	const planned = await Promise.all(records.map(planUndo));
	const report = await Promise.all(
		planned.map(async ({ record, before, undo }) => {
			const after = undo.kind === "left" || undo.kind === "nothing" ? before : undo.text;
			const diff = await diffOf(record.path, before, after, record.keys);
			const why = undo.kind === "left" ? undo.why : undefined;
			const isDeleted = before !== undefined && after === undefined;
			const kind = isDeleted ? ("deleted" as const) : undo.kind;
			return { agent: record.agent, path: record.path, kind, diff, ...(why && { why }) };
		}),
	);
	const { print } = terminal;
	if (!options.json) {
		if (report.length === 0) print("Nothing is set up by strata setup.");
		for (const { path, kind, diff, why } of report) {
			print(`${shownPath(path)} ${UNDO_TEXT[kind]}${why === undefined ? "" : `: ${why}`}`);
			for (const line of diff) print(`    ${line}`);
		}
	}
	const isWriting =
		planned.length > 0 && (await isAgreed({ options, named, manifest, terminal }, planned.length));
	const faults: string[] = [];
	if (isWriting) {
		for (const one of planned) faults.push(...[(await applyUndo(one, manifest)) ?? []].flat());
	}
	const undone = isWriting && faults.length === 0;
	if (options.json) print(JSON.stringify({ files: report, undone, faults }, null, 2));
	else if (isWriting) for (const line of undone ? ["Done."] : faults) print(line);
	return faults.length > 0 ? 1 : 0;
}

const UNDO_TEXT = {
	deleted: "is deleted: strata setup made it",
	restored: "becomes what it was, byte for byte",
	removed: "was written since: only our keys are removed",
	nothing: "has nothing of ours left",
	left: "is left alone",
};

async function isAgreed({ options, terminal }: Task, count: number): Promise<boolean> {
	if (options["dry-run"]) return false;
	if (options.yes) return true;
	return (
		(await terminal.confirm?.(`Write ${count === 1 ? "this file" : `these ${count} files`}?`)) ===
		true
	);
}

type AgentReport = Awaited<ReturnType<typeof reportOf>>;

async function reportOf({ found, files, notes }: AgentPlan) {
	const { agent, program } = found;
	const changes = files.map(async ({ wanted, before, after, keys, calls }) => ({
		path: wanted.path,
		commands: calls.map((words) => [agent.programs[0], ...words].join(" ")),
		diff: await diffOf(wanted.path, before, after, keys),
	}));
	return {
		...{ agent: agent.name, title: agent.title, ...(program !== undefined && { program }) },
		...{ changes: await Promise.all(changes), notes: notes.map((note) => oneLine(note)) },
	};
}

function* linesOf({ title, changes, notes }: AgentReport): Generator<string> {
	const isDone = changes.length === 0 && notes.length === 0;
	yield `${title}${isDone ? ": nothing to do" : ""}`;
	for (const { path, commands, diff } of changes) {
		yield `  ${shownPath(path)}${commands.length > 0 ? `, by: ${commands.join(" && ")}` : ""}`;
		for (const line of diff) yield `    ${line}`;
	}
	for (const note of notes) yield `  ${note}`;
}

function* farewell(plans: readonly AgentPlan[], count: number): Generator<string> {
	const keys = plans.flatMap(({ files }) => files.flatMap((file) => file.keys));
	yield `${count === 1 ? "1 file" : `${count} files`} written. Agents load the tools when they start. strata setup --undo takes it back.`;
	const hook = JSON.stringify(keys.filter(({ kind }) => kind === "hook"));
	if (hook.includes("--shadow")) {
		yield "The hook of Claude Code only counts (strata hook report). --savings birth lets it shorten results.";
	}
}

const MAX_DIFF_BYTES = 256 * 1024;
const MAX_LINE_CHARS = 300;

/**
 * Rows of a diff, without its header. Of the strings only ours are shown: the user's may be secret, and the rows may end
 * up in a log.
 */
async function diffOf(
	path: string,
	before: string | undefined,
	after: string | undefined,
	keys: readonly { readonly value: unknown }[],
): Promise<string[]> {
	if (before === after) return [];
	const input = { path, base: before ?? "", current: after ?? "", contextLines: 1 };
	const diff = await unifiedDiff({ ...input, maxBytes: MAX_DIFF_BYTES });
	if (diff.kind !== "diff") return ["(too long to show)"];
	const rows = diff.text.trimEnd().split("\n").slice(2);
	const written = JSON.stringify(keys.map(({ value }) => value));
	const ours = new Set(Array.from(written.matchAll(STRING), ([, text]) => text));
	return rows.map((row) =>
		clipped(row.replaceAll(STRING, (all, text, sign) => (sign || ours.has(text) ? all : '"…"'))),
	);
}

/** A string in JSON and TOML. Behind the name of a key there is a sign. */
const STRING = /("(?:\\.|[^"\\])*"|'[^']*')(\s*[:=])?/g;

function clipped(row: string): string {
	const indent = /^.?\s*/.exec(row)?.[0] ?? "";
	return indent.replaceAll("\r", "") + plainText(row.slice(indent.length), MAX_LINE_CHARS);
}
