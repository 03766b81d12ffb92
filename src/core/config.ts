import { closeSync, constants, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { nearest } from "../text/nearest.ts";
import { escaped } from "../text/one-line.ts";
import { errnoOf } from "./errno.ts";
import { isRecord } from "./property.ts";
import {
	accepts,
	type Config,
	type NamedSetting,
	requirement,
	type Setting,
	type SettingGroup,
	type SettingKey,
	type SettingValue,
	settingGroups,
	settings,
} from "./settings.ts";

export { type Config, configJsonSchema, type SettingKey, type SettingValue } from "./settings.ts";

/** The configuration of one session, and how it came about. */
export interface LoadedConfig {
	/** Every setting's value; built for this call alone and frozen. */
	config: Config;
	/** Where a value comes from: `default`, a file's label, or several joined by ` + ` for a list added to. */
	origin(key: SettingKey): string;
	/** What was wrong with the files, a line each, in the order of the files; safe to print. */
	warnings: string[];
	/** The files looked for, the strongest last. */
	files: ConfigFile[];
}

/** A place where configuration may be. */
export interface ConfigFile {
	path: string;
	/** What origins call the file: `strata.json`, `project strata.json`. Warnings name its path. */
	label: string;
	/** Something is there, usable or not. */
	found: boolean;
	/** It counts: it could be read and holds a JSON object. */
	used: boolean;
}

/** Where the files are: pi's agent folder, and the folder whose `.pi` holds the project's. */
export interface ConfigFolders {
	agentDir: string;
	cwd: string;
}

/**
 * Reads the four configuration files and merges them key by key, later over earlier: the user's `pi-kota.json`
 * and `strata.json`, then the project's. Never throws: a missing file is silent, an unusable file or value is a
 * warning and leaves what the files before it said.
 */
export function loadConfig({ agentDir, cwd }: ConfigFolders): LoadedConfig {
	const entries: Entries = new Map(
		settings.map(({ key, setting }) => [key, { value: setting.default, origin: "default" }]),
	);
	const warnings: string[] = [];
	const files = sources({ agentDir, cwd }).map((source): ConfigFile => {
		const report = createReport(printable(source.path));
		const content = readObject(source.path);
		if (content.kind === "unusable") report.add(() => `${content.why}; the file is ignored`);
		if (content.kind === "object") mergeFile(entries, source, content.object, report);
		warnings.push(...report.lines());
		return {
			path: source.path,
			label: source.label,
			found: content.kind !== "missing",
			used: content.kind === "object",
		};
	});
	const origins = new Map(Array.from(entries, ([key, { origin }]) => [key, origin]));
	return {
		config: buildConfig(entries),
		origin: (key) => origins.get(key) ?? "default",
		warnings,
		files,
	};
}

/** Every setting with its value and where that comes from, in the order of the settings table. */
export function describeConfig({
	config,
	origin,
}: LoadedConfig): { key: SettingKey; value: SettingValue; origin: string }[] {
	const values = config as Record<string, Record<string, SettingValue>>;
	return settings.map(({ key, group, name }) => ({
		key,
		value: values[group]?.[name] as SettingValue,
		origin: origin(key),
	}));
}

type Entries = Map<SettingKey, { value: SettingValue; origin: string }>;

interface Source {
	label: string;
	path: string;
	/** The file comes with a repository: untrusted data. */
	isProject: boolean;
	/** The groups that a file of this name can have. */
	groups: string[];
}

const GROUPS = Object.keys(settingGroups);
const KOTA_GROUPS = Object.entries<SettingGroup>(settingGroups)
	.filter(([, group]) => group.inKotaFile)
	.map(([name]) => name);

function sources({ agentDir, cwd }: ConfigFolders): Source[] {
	const project = join(cwd, ".pi");
	return [
		{ folder: agentDir, name: "pi-kota.json", isProject: false, groups: KOTA_GROUPS },
		{ folder: agentDir, name: "strata.json", isProject: false, groups: GROUPS },
		{ folder: project, name: "pi-kota.json", isProject: true, groups: KOTA_GROUPS },
		{ folder: project, name: "strata.json", isProject: true, groups: GROUPS },
	].map(({ folder, name, isProject, groups }) => ({
		label: isProject ? `project ${name}` : name,
		path: join(folder, name),
		isProject,
		groups,
	}));
}

const MAX_WARNINGS = 20;

/** Collects the warnings about one file. Texts are made only for those shown: a file can hold 100 000 slips. */
function createReport(file: string) {
	const shown: string[] = [];
	let more = 0;
	return {
		add(text: () => string): void {
			if (shown.length < MAX_WARNINGS) shown.push(`${file}: ${text()}`);
			else more++;
		},
		lines: (): string[] => (more > 0 ? [...shown, `${file}: … and ${more} more`] : shown),
	};
}

type Report = ReturnType<typeof createReport>;

type Content =
	| { kind: "missing" }
	| { kind: "unusable"; why: string }
	| { kind: "object"; object: Record<string, unknown> };

const MAX_FILE_BYTES = 1024 * 1024;

function readObject(path: string): Content {
	let bytes: Uint8Array;
	try {
		// Before opening: to open a device can already have an effect.
		if (!statSync(path).isFile()) return unusable("is not a regular file");
		bytes = readStart(path, MAX_FILE_BYTES + 1);
	} catch (error) {
		const code = errnoOf(error) ?? "unknown error";
		if (code === "ENOENT" || code === "ENOTDIR") return { kind: "missing" };
		return unusable(`cannot be read (${code})`);
	}
	if (bytes.length > MAX_FILE_BYTES) return unusable("is larger than 1 MiB");
	return parseObject(bytes);
}

function readStart(path: string, limit: number): Uint8Array {
	// O_NONBLOCK: should a FIFO have taken the file's place since it was looked at, opening does not hang.
	const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
	try {
		const buffer = Buffer.alloc(limit);
		let length = 0;
		for (let read = -1; read !== 0 && length < limit; length += read)
			read = readSync(file, buffer, length, limit - length, null);
		return buffer.subarray(0, length);
	} finally {
		closeSync(file);
	}
}

function parseObject(bytes: Uint8Array): Content {
	let value: unknown;
	try {
		// The decoder drops a BOM and, being fatal, throws on anything that is not UTF-8.
		value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
	} catch (error) {
		return unusable(`is not valid JSON${position(error as Error)}`);
	}
	if (!isRecord(value)) return unusable(`must be a JSON object, got ${kindOf(value)}`);
	return { kind: "object", object: value };
}

/** Only the position is taken from the parser's message: the rest quotes the file, which may be a link to a secret. */
function position({ message }: Error): string {
	const found = /\(line (\d+) column (\d+)\)$/.exec(message);
	return found ? ` (line ${found[1]}, column ${found[2]})` : "";
}

function unusable(why: string): Content {
	return { kind: "unusable", why };
}

function mergeFile(
	entries: Entries,
	source: Source,
	object: Record<string, unknown>,
	report: Report,
): void {
	for (const [group, members] of Object.entries(object)) {
		if (group === "$schema") continue;
		if (!source.groups.includes(group)) report.add(() => unknownGroup(group, source));
		else if (!isRecord(members))
			report.add(() => `${group} must be an object, got ${kindOf(members)}`);
		else mergeGroup(entries, source, { group, members }, report);
	}
}

function mergeGroup(
	entries: Entries,
	source: Source,
	{ group, members }: { group: string; members: Record<string, unknown> },
	report: Report,
): void {
	const known = new Map(
		settings.filter((row) => row.group === group).map((row) => [row.name, row]),
	);
	for (const [name, value] of Object.entries(members)) {
		const row = known.get(name);
		if (!row) report.add(() => unknownKey(group, name, known.keys()));
		else if (row.setting.userOnly && source.isProject)
			report.add(() => `${row.key} can only be set in the user's own files; ignored`);
		else if (!accepts(row.setting, value)) report.add(() => wrongValue(row, value));
		else mergeValue(entries, source, row, value);
	}
}

function mergeValue(
	entries: Entries,
	{ isProject, label }: Source,
	{ key, setting }: NamedSetting,
	value: SettingValue,
): void {
	const before = entries.get(key);
	if (before && isProject && setting.kind === "list" && setting.projectMerge === "append") {
		const joined = new Set([...(before.value as string[]), ...(value as string[])]);
		entries.set(key, { value: [...joined], origin: `${before.origin} + ${label}` });
		return;
	}
	entries.set(key, { value, origin: label });
}

function unknownGroup(group: string, { groups }: Source): string {
	if (GROUPS.includes(group)) return `${group} belongs in strata.json; ignored`;
	return `unknown group ${quoteKey(group)}${hint(nearest(group, groups))}`;
}

function unknownKey(group: string, name: string, known: Iterable<string>): string {
	const meant = nearest(name, known);
	return `unknown key ${quoteKey(`${group}.${name}`)}${hint(meant && `${group}.${meant}`)}`;
}

function hint(meant: string | undefined): string {
	return meant ? `, did you mean ${meant}?` : "";
}

function wrongValue({ key, setting }: NamedSetting, value: unknown): string {
	return `${key} must be ${requirement(setting)}, got ${shownValue(setting, value)}`;
}

const MAX_QUOTED = 60;

/** The value as JSON where that is short and cannot be a secret, else only what kind of value it is. */
function shownValue(setting: Setting, value: unknown): string {
	if (setting.userOnly && typeof value !== "number" && typeof value !== "boolean") {
		return kindOf(value);
	}
	try {
		const json = printable(JSON.stringify(value));
		if (json.length <= MAX_QUOTED) return json;
	} catch {
		// Nested deeper than the stack reaches, so it is too long as well.
	}
	return `${kindOf(value)} too long to show`;
}

function quoteKey(key: string): string {
	const quoted = printable(JSON.stringify(key));
	if (quoted.length <= MAX_QUOTED) return quoted;
	return `${quoted.slice(0, MAX_QUOTED - 2).toWellFormed()}…"`;
}

/** JSON and paths leave some characters alone that steer a terminal or reorder its text; they are escaped here. */
function printable(text: string): string {
	return escaped(text, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu);
}

function kindOf(value: unknown): string {
	if (value === null) return "null";
	if (Array.isArray(value)) return "a list";
	return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function buildConfig(entries: Entries): Config {
	const groups = GROUPS.map((group) => {
		const members = settings
			.filter((row) => row.group === group)
			.map(({ key, name }) => [name, frozenCopy(entries.get(key)?.value)]);
		return [group, Object.freeze(Object.fromEntries(members))];
	});
	return Object.freeze(Object.fromEntries(groups));
}

function frozenCopy(value: SettingValue | undefined): SettingValue | undefined {
	return Array.isArray(value) ? Object.freeze([...value]) : value;
}
