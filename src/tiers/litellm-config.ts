import { join } from "node:path";
import { describeError, errnoOf } from "../core/errno.ts";
import { isRecord, property } from "../core/property.ts";
import { readRegularFile } from "../core/regular-file.ts";
import { accepts, settingGroups } from "../core/settings.ts";

/**
 * Reads `cacheMinTokens` and `cacheBufferMultiplier` from a project's `litellm.json`. Never rejects: a bad
 * file results in a warning. The warning does not quote the file, since it may hold API keys.
 */
export async function readLitellmSettings(projectRoot: string) {
	const content = await readJsonObject(join(projectRoot, NAME), MAX_BYTES);
	const settings: Partial<Record<(typeof KEYS)[number], number>> = {};
	const warnings: string[] = [];
	if (typeof content === "string") warnings.push(`${NAME}: ${content}; the file is ignored`);
	for (const key of KEYS) {
		const value = property(content, key);
		const setting = settingGroups.tiers.settings[key];
		if (value === undefined) continue;
		if (accepts(setting, value)) settings[key] = value as number;
		else warnings.push(`${NAME}: ${key} must be ${setting.requirement}; the value is ignored`);
	}
	return { settings, warnings };
}

const NAME = "litellm.json";
const KEYS = ["cacheMinTokens", "cacheBufferMultiplier"] as const;
const MAX_BYTES = 1024 * 1024;

/** A string says what is wrong; `undefined` means that there is no file. Never rejects or quotes the file. */
export async function readJsonObject(
	path: string,
	maxBytes: number,
): Promise<object | string | undefined> {
	try {
		const file = await readRegularFile(path, maxBytes);
		if (file.kind === "read") return parse(file.bytes);
		if (file.kind === "missing") return undefined;
		return file.reason === "too-big" ? `is larger than ${maxBytes} bytes` : "is not a regular file";
	} catch (error) {
		if (errnoOf(error) === "ENOTDIR") return undefined;
		return `cannot be read (${errnoOf(error) ?? describeError(error)})`;
	}
}

function parse(bytes: Uint8Array): object | string {
	try {
		// The fatal decoder drops a BOM and throws on invalid UTF-8.
		const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
		return isRecord(value) ? value : "is not a JSON object";
	} catch {
		return "is not valid JSON"; // the parser's own message would quote the file
	}
}
