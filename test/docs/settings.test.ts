import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadConfig } from "../../src/core/config.ts";
import { settings } from "../../src/core/settings.ts";
import strata from "../../src/extension/index.ts";
import { DEFAULT_LIMITS } from "../../src/server/limits.ts";
import { prometheusText } from "../../src/server/metrics.ts";
import { startPi } from "../support/pi-session.ts";
import { reportTexts } from "../support/read-session.ts";
import { tempDir } from "../support/temp.ts";
import { type Document, documentAt, documents, root } from "./documents.ts";

const keys = new Set<string>(settings.map(({ key }) => key));
const groups = [...new Set(settings.map(({ group }) => group))];

/** The pages whose tables leave out the group's name. */
const GROUP_OF: Record<string, string> = {
	"docs/readcache.md": "readcache",
	"docs/paging.md": "paging",
	"docs/tiers.md": "tiers",
	"docs/economy.md": "economy",
	"docs/proxy.md": "proxy",
};

test("every setting that a document names by its full name exists", () => {
	const full = new RegExp(`^((?:${groups.join("|")})\\.[A-Za-z]+)(?:: .*)?$`);
	const named = documents.flatMap(({ path, codeWords }) =>
		codeWords.flatMap((word) => {
			const key = full.exec(word)?.[1];
			return key === undefined || isFile(key) ? [] : [{ path, key }];
		}),
	);
	// Settings of pi-kota that are said not to be there.
	const gone = new Set(["kota.connectTimeoutMs"]);
	expect(named.filter(({ key }) => !keys.has(key) && !gone.has(key))).toEqual([]);
	expect(named.length).toBeGreaterThan(20);
});

test.each(Object.entries(GROUP_OF))(
	"%s has every setting of %s in a table, and no other",
	(path, group) => {
		const page = documentAt(path);
		const named = settingRows(page).flatMap((row) => codeIn(row.split("|")[1] ?? ""));
		const own = settings.filter((setting) => setting.group === group).map(({ name }) => name);
		expect(named.filter((name) => !own.includes(name))).toEqual([]);
		expect(own.filter((name) => !named.includes(name))).toEqual([]);
	},
);

test("every example of strata.json in a document is taken without a warning", () => {
	const examples = documents.flatMap(({ path, blocks }) =>
		blocks
			.filter(({ language, text }) => language === "json" && !/^\s*\{ "type"/.test(text))
			.map(({ text }) => ({ path, text })),
	);
	for (const { path, text } of examples) expect([path, ...warningsOf(text)]).toEqual([path]);
	expect(examples.length).toBeGreaterThan(0);
});

describe("examples/pi-settings", () => {
	test.each(["strata.json", "off/strata.json"])("%s is taken without a warning", (file) => {
		const folder = settingsFolder(file);
		const { warnings, files } = loadConfig({ agentDir: folder, cwd: tempDir() });
		expect(warnings).toEqual([]);
		expect(files.filter(({ found }) => found)).toHaveLength(1);
	});

	test("strata.json is everything at its default", () => {
		const given = loadConfig({ agentDir: settingsFolder("strata.json"), cwd: tempDir() });
		const none = loadConfig({ agentDir: tempDir(), cwd: tempDir() });
		expect(given.config).toEqual(none.config);
	});

	test("off/strata.json turns off every system that has a switch", async () => {
		expect(await systemsWith("strata.json")).toEqual({
			on: ["read cache", "birth", "paging", "kota", "pruning", "clearing", "tiers", "economy"],
			off: [],
		});
		expect(await systemsWith("off/strata.json")).toEqual({
			on: ["economy"],
			off: ["read cache", "birth", "paging", "kota", "pruning", "clearing", "tiers"],
		});
	});
});

describe("docs/server.md", () => {
	const page = documentAt("docs/server.md");

	test("has every limit with its default, and no other", () => {
		const rows = (page.text.split("| limit |")[1]?.split("\n\n")[0] ?? "").split("\n").slice(2);
		const told = rows.flatMap((row) => {
			const [, names = "", values = ""] = row.split("|");
			const numbers = values.split(",").map(Number);
			return codeIn(names).map((name, index) => [name, numbers[index]] as const);
		});
		expect(Object.fromEntries(told)).toEqual(DEFAULT_LIMITS);
	});

	test("names metrics that there are", () => {
		const named = page.codeWords.filter((word) => word.startsWith("strata_"));
		const parts = { engine: {}, journal: {}, connections: {}, process: { memory: {} } };
		const text = prometheusText(parts as Parameters<typeof prometheusText>[0]);
		for (const name of named) expect(text).toContain(`# TYPE ${name} `);
		expect(named.length).toBeGreaterThan(5);
	});
});

/** The rows of tables about settings: those whose head says so, or that stand under a heading that does. */
function settingRows({ text }: Document): string[] {
	const tables = text.matchAll(/^\| *(?:setting|key)\b.*\n\|[-|]+\|\n((?:\|.*\n?)+)/gm);
	return [...tables].flatMap((match) => (match[1] ?? "").trimEnd().split("\n"));
}

function codeIn(cell: string): string[] {
	return [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? "");
}

/** `readcache.json` and the like are results, not settings. */
function isFile(key: string): boolean {
	return /\.(json|md|ts)$/.test(key);
}

function warningsOf(json: string): string[] {
	const folder = tempDir();
	writeFileSync(join(folder, "strata.json"), json);
	return loadConfig({ agentDir: folder, cwd: tempDir() }).warnings;
}

function settingsFolder(file: string): string {
	const folder = tempDir();
	mkdirSync(folder, { recursive: true });
	cpSync(join(root, "examples", "pi-settings", file), join(folder, "strata.json"));
	return folder;
}

async function systemsWith(file: string): Promise<{ on: string[]; off: string[] }> {
	const pi = await startPi({
		agentDir: settingsFolder(file),
		mode: "rpc",
		extensions: [{ name: "strata", factory: strata }],
	});
	await pi.command("/strata");
	const rows = reportTexts(pi).at(-1)?.split("\n").slice(1) ?? [];
	const named = (state: string) =>
		rows
			.filter((row) => row.startsWith(state))
			.map((row) => row.slice(5).split("  ")[0]?.trim() ?? "");
	const systems = { on: named("on "), off: named("off") };
	await pi.close();
	return systems;
}
