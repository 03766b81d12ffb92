import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { expect, test } from "vitest";
import { splitProgram, type Terminal } from "../../src/cli/command.ts";
import { commands, main } from "../../src/cli/main.ts";
import strata from "../../src/extension/index.ts";
import { startPi } from "../support/pi-session.ts";
import { documents, root } from "./documents.ts";

/** Everything written as code, a line at a time, with the document it is from. */
const lines = documents.flatMap(({ path, blocks, codeWords }) =>
	[...codeWords, ...blocks.flatMap(({ text }) => text.split("\n"))].map((line) => ({
		from: path,
		line: line.replace(/^\$ /, "").trim(),
	})),
);

test("every strata command line of a document has a command and options that exist", async () => {
	const quoted = lines.flatMap(({ from, line }) => {
		const words = /^(?:npm run (?:-s )?strata -- |(?:npx pi-)?strata (?=[a-z]))(.+)$/.exec(
			line,
		)?.[1];
		return words === undefined || isOutput(words) ? [] : [{ from, words: wordsOf(words) }];
	});
	const faults: string[] = [];
	for (const { from, words } of quoted) {
		const fault = await faultOf(words);
		if (fault !== undefined) faults.push(`${from}: strata ${words.join(" ")}: ${fault}`);
	}
	expect(faults).toEqual([]);
	expect(quoted.length).toBeGreaterThan(30);
});

test("every strata command is in the README, and has its help", async () => {
	const readme = documents.find(({ path }) => path === "README.md");
	for (const { name } of commands) {
		expect(readme?.codeWords).toContain(`strata ${name}`);
		const printed: string[] = [];
		const around = { print: (line: string) => printed.push(line) } as unknown as Terminal;
		expect(await main(["help", name], around)).toBe(0);
		expect(printed[0]).toMatch(new RegExp(`^usage: strata ${name}\\b`));
	}
});

test("every policy of strata replay is in the table of docs/economy.md", async () => {
	const errors: string[] = [];
	const around = { env: {}, cwd: root, printError: (line: string) => errors.push(line) };
	await main(["replay", "a.jsonl", "--policy", "?"], around as unknown as Terminal);
	const known = /known: (.*)$/m.exec(errors.join("\n"))?.[1]?.split(", ") ?? [];
	expect(known).toContain("append-only");
	const page = documents.find(({ path }) => path === "docs/economy.md");
	const table = page?.text.split("| policy | requests |")[1]?.split("\n\n")[0];
	for (const name of known) expect(table).toMatch(new RegExp(`^\\| \\*{0,2}\`${name}\``, "m"));
});

test("every flag of strata serve is in docs/server.md", async () => {
	const page = documents.find(({ path }) => path === "docs/server.md");
	const serve = await commands.find(({ name }) => name === "serve")?.load();
	for (const option of Object.keys(serve?.options ?? {})) {
		expect(page?.codeWords).toContain(`--${option}`);
	}
});

test("both commands for a fresh clone are on the first screen of the README", () => {
	const screen = readFileSync(join(root, "README.md"), "utf8").split("\n").slice(0, 40);
	for (const command of ["npm ci && npm start", "npm ci && npm test"]) {
		expect(screen).toContainEqual(expect.stringMatching(new RegExp(`^${command}( |$)`)));
	}
});

test("every npm script of a document is in package.json", () => {
	const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
	const named = lines.flatMap(({ from, line }) =>
		[...line.matchAll(/\bnpm (?:run (?:-s )?([\w:-]+)|(start|test)\b)/g)].map((match) => ({
			from,
			script: match[1] ?? match[2] ?? "",
		})),
	);
	const missing = named.filter(({ script }) => !Object.hasOwn(scripts, script));
	expect(missing).toEqual([]);
	expect(named.length).toBeGreaterThan(5);
});

test("every command of pi that a document names is registered, and its first word known", async () => {
	const pi = await startPi({ extensions: [{ name: "strata", factory: strata }] });
	const { extensionRunner } = pi.session;
	const ours = ["strata", "kota", "workset", "tiers", "readcache-status", "readcache-refresh"];
	const named = lines.flatMap(({ from, line }) => {
		const [, name = "", word] =
			/^\/(strata|kota|workset|tiers|readcache[\w-]*)(?: ([a-z-]+))?(?![\w/])/.exec(line) ?? [];
		return name === "" ? [] : [{ from, name, word }];
	});
	const known = new Map<string, string[]>([["strata", ["cost"]]]);
	for (const name of ["kota", "workset"]) {
		const items = await extensionRunner.getCommand(name)?.getArgumentCompletions?.("");
		known.set(name, items?.map(({ value }) => value) ?? []);
	}
	const faults = named.filter(
		({ name, word }) =>
			!extensionRunner.getCommand(name) ||
			(word !== undefined && known.has(name) && !known.get(name)?.includes(word)),
	);
	expect(faults).toEqual([]);
	expect(new Set(named.map(({ name }) => name))).toEqual(new Set(ours));
});

test.each([
	["index --root .", undefined],
	["serve --port 0 --limit maxSessions=3", undefined],
	["surve", 'no command "surve"'],
	["serve --prot 1", "Unknown option '--prot'"],
])("the checker says of strata %s: %s", async (words, fault) => {
	if (fault === undefined) expect(await faultOf(wordsOf(words))).toBeUndefined();
	else expect(await faultOf(wordsOf(words))).toContain(fault);
});

/** A line that the program prints may begin with its name, too. */
function isOutput(words: string): boolean {
	return /^(serves on|says|is|has|in)\b/.test(words);
}

/** The words of a command line, without what a shell would take for itself and without comments. */
function wordsOf(line: string): string[] {
	const [command = ""] = line.split(/\s+#\s|\s\|\s|, |; /, 1);
	return command
		.split(/\s+/)
		.filter((word) => !/^[[\]…|]+$/.test(word))
		.map((word) => word.replaceAll(/^\[|\]?…?$/g, ""));
}

async function faultOf([name = "", ...args]: readonly string[]): Promise<string | undefined> {
	if (name === "help" || name.startsWith("<")) return undefined;
	const command = await commands.find((one) => one.name === name)?.load();
	if (!command) return `no command "${name}"`;
	try {
		const { own } = splitProgram(command, args);
		parseArgs({ args: own, options: command.options, allowPositionals: true, strict: true });
		return undefined;
	} catch (error) {
		return (error as Error).message;
	}
}
