import { statSync } from "node:fs";
import { join } from "node:path";
import { nearest } from "../text/nearest.ts";
import { escaped } from "../text/one-line.ts";
import { errnoOf } from "./errno.ts";
import { isRecord } from "./property.ts";
import { readPartSync } from "./regular-file.ts";
import {
	accepts,
	type Config,
	type NamedSetting,
	type Setting,
	type SettingKey,
	type SettingValue,
	settingGroups,
	settings,
} from "./settings.ts";

export { type Config, configJsonSchema } from "./settings.ts";

export type LoadedConfig = ReturnType<typeof loadConfig>;

/** The user's files are in `agentDir`, the project's in the folder `.pi` of `cwd`. */
interface ConfigFolders {
	readonly agentDir: string;
	readonly cwd: string;
}

/**
 * Merges four files key by key; later files override earlier ones. The order is: the user's
 * `pi-kota.json` and `strata.json`, then the project's. Never throws. A missing file is ignored. For an
 * unusable file or value there is a warning, and the earlier value stays.
 */
export function loadConfig(folders: ConfigFolders) {
	const entries: Entries = new Map(
		settings.map(({ key, setting }) => [key, { value: setting.default, origin: "default" }]),
	);
	const warnings: string[] = [];
	const files = sources(folders).map((source) => {
		const { path, label } = source;
		const problems: Problem[] = [];
		const content = readObject(path);
		// The file was readable and holds a JSON object.
		const used = typeof content === "object";
		if (used) mergeFile(entries, source, content, (problem) => problems.push(problem));
		else if (content) problems.push(() => `${content}; the file is ignored`);
		warnings.push(...warningsOf(printable(path), problems));
		return { path, label, found: content !== undefined, used };
	});
	const groups = Array.from(ROWS, ([group, rows]) => {
		const members = rows.map(({ key, name }) => [name, frozenCopy(entries.get(key)?.value)]);
		return [group, Object.freeze(Object.fromEntries(members))];
	});
	return {
		config: Object.freeze(Object.fromEntries(groups)) as Config,
		/** The source of a value: `default`, or a file's label; several for an appended list, joined by ` + `. */
		origin: (key: SettingKey) => entries.get(key)?.origin ?? "default",
		/** One warning per problem, in file order, escaped for printing. If a file has too many, its last warning counts the rest. */
		warnings,
		/** All four files, in merge order. */
		files,
	};
}

export function describeConfig({ config, origin }: LoadedConfig) {
	const values = config as Record<string, Record<string, SettingValue>>;
	return settings.map(({ key, group, name }) => ({
		key,
		value: values[group]?.[name] as SettingValue,
		origin: origin(key),
	}));
}

type Entries = Map<SettingKey, { value: SettingValue; origin: string }>;

type Source = ReturnType<typeof sources>[number];

const ROWS = Map.groupBy(settings, ({ group }) => group);
const GROUPS = [...ROWS.keys()];
const KOTA_GROUPS = GROUPS.filter((name) => settingGroups[name as keyof Config].inKotaFile);

function sources({ agentDir, cwd }: ConfigFolders) {
	return [false, true].flatMap((isProject) =>
		["pi-kota.json", "strata.json"].map((name) => ({
			/** Names the file in origins; warnings name its path instead. */
			label: isProject ? `project ${name}` : name,
			path: isProject ? join(cwd, ".pi", name) : join(agentDir, name),
			/** A project's file comes with a repository, so its content is untrusted. */
			isProject,
			groups: name === "pi-kota.json" ? KOTA_GROUPS : GROUPS,
		})),
	);
}

const MAX_WARNINGS = 20;

type Problem = () => string;

/** Formats only the warnings that are shown, since a file can hold 100,000 mistakes. */
function warningsOf(file: string, problems: readonly Problem[]): string[] {
	const shown = problems.slice(0, MAX_WARNINGS).map((problem) => `${file}: ${problem()}`);
	const more = problems.length - shown.length;
	return more > 0 ? [...shown, `${file}: … and ${more} more`] : shown;
}

const MAX_FILE_BYTES = 1024 * 1024;

/** Returns the JSON object, the reason why the file cannot be used, or `undefined` if there is no file. */
function readObject(path: string): Record<string, unknown> | string | undefined {
	let bytes: Uint8Array;
	try {
		// Checked before opening, since opening a device can have side effects.
		if (!statSync(path).isFile()) return "is not a regular file";
		bytes = readPartSync(path, 0, MAX_FILE_BYTES + 1);
	} catch (error) {
		const code = errnoOf(error) ?? "unknown error";
		return code === "ENOENT" || code === "ENOTDIR" ? undefined : `cannot be read (${code})`;
	}
	if (bytes.length > MAX_FILE_BYTES) return "is larger than 1 MiB";
	try {
		// The decoder drops a BOM; `fatal` makes it throw on invalid UTF-8.
		const value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
		return isRecord(value) ? value : `must be a JSON object, got ${kindOf(value)}`;
	} catch (error) {
		// Uses only the position: the message quotes the file, and the file may be a link to a secret.
		const found = /\(line (\d+) column (\d+)\)$/.exec((error as Error).message);
		return `is not valid JSON${found ? ` (line ${found[1]}, column ${found[2]})` : ""}`;
	}
}

function mergeFile(
	entries: Entries,
	{ isProject, label, groups }: Source,
	object: Record<string, unknown>,
	warn: (problem: Problem) => void,
): void {
	for (const [group, members] of Object.entries(object)) {
		if (group === "$schema") continue;
		if (!groups.includes(group)) warn(() => unknownGroup(group, groups));
		else if (!isRecord(members)) warn(() => `${group} must be an object, got ${kindOf(members)}`);
		else for (const [name, value] of Object.entries(members)) mergeValue(group, name, value);
	}

	function mergeValue(group: string, name: string, value: unknown) {
		const rows = ROWS.get(group) ?? [];
		const row = rows.find((one) => one.name === name);
		if (!row) return warn(() => unknownKey(group, name, rows));
		const { key, setting } = row;
		const before = entries.get(key);
		if (setting.userOnly && isProject)
			warn(() => `${key} can only be set in the user's own files; ignored`);
		else if (!accepts(setting, value))
			warn(() => `${key} must be ${setting.requirement}, got ${shownValue(setting, value)}`);
		else if (before && isProject && setting.projectMerge === "append") {
			const joined = new Set([...(before.value as string[]), ...(value as string[])]);
			entries.set(key, { value: [...joined], origin: `${before.origin} + ${label}` });
		} else entries.set(key, { value, origin: label });
	}
}

function unknownGroup(group: string, groups: readonly string[]): string {
	if (GROUPS.includes(group)) return `${group} belongs in strata.json; ignored`;
	return `unknown group ${quoteKey(group)}${hint(nearest(group, groups))}`;
}

function unknownKey(group: string, name: string, rows: readonly NamedSetting[]): string {
	const known = rows.map((row) => row.name);
	const meant = nearest(name, known);
	return `unknown key ${quoteKey(`${group}.${name}`)}${hint(meant && `${group}.${meant}`)}`;
}

function hint(meant: string | undefined): string {
	return meant ? `, did you mean ${meant}?` : "";
}

const MAX_QUOTED = 60;

/** Returns the value as JSON if that is short and cannot be a secret, otherwise only the kind of value. */
function shownValue(setting: Setting, value: unknown): string {
	if (setting.userOnly && typeof value !== "number" && typeof value !== "boolean") {
		return kindOf(value);
	}
	try {
		const json = printable(JSON.stringify(value));
		if (json.length <= MAX_QUOTED) return json;
	} catch {
		// The value is nested too deeply for the stack, so its JSON would be too long as well.
	}
	return `${kindOf(value)} too long to show`;
}

function quoteKey(key: string): string {
	const quoted = printable(JSON.stringify(key));
	if (quoted.length <= MAX_QUOTED) return quoted;
	return `${quoted.slice(0, MAX_QUOTED - 2).toWellFormed()}…"`;
}

/** Escapes characters that control a terminal or reorder its text. JSON and paths may contain them. */
function printable(text: string): string {
	return escaped(text, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu);
}

function kindOf(value: unknown): string {
	if (value === null) return "null";
	if (Array.isArray(value)) return "a list";
	return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function frozenCopy(value: SettingValue | undefined): SettingValue | undefined {
	if (Array.isArray(value)) return Object.freeze([...value]);
	return isRecord(value) ? Object.freeze({ ...value }) : value;
}
