import { join } from "node:path";
import { describeError, errnoOf } from "../core/errno.ts";
import { property } from "../core/property.ts";
import { readRegularFile } from "../core/regular-file.ts";
import { accepts, settingGroups } from "../core/settings.ts";

export interface LitellmSettings {
	readonly cacheMinTokens?: number;
	readonly cacheBufferMultiplier?: number;
}

/** Never rejects: a bad file becomes a warning, which quotes none of it (it may hold keys). */
export async function readLitellmSettings(
	projectRoot: string,
): Promise<{ settings: LitellmSettings; warnings: string[] }> {
	const content = await readJsonObject(join(projectRoot, NAME), MAX_BYTES);
	if (content.kind === "missing") return { settings: {}, warnings: [] };
	if (content.kind === "unusable") {
		return { settings: {}, warnings: [`${NAME}: ${content.why}; the file is ignored`] };
	}
	const found: Record<string, number> = {};
	const warnings: string[] = [];
	for (const key of KEYS) {
		const value = property(content.object, key);
		const setting = settingGroups.tiers.settings[key];
		if (value === undefined) continue;
		if (accepts(setting, value)) found[key] = value as number;
		else warnings.push(`${NAME}: ${key} must be ${setting.requirement}; the value is ignored`);
	}
	return { settings: found, warnings };
}

const NAME = "litellm.json";
const KEYS = ["cacheMinTokens", "cacheBufferMultiplier"] as const;
const MAX_BYTES = 1024 * 1024;

/** `why` completes a sentence that begins with the file's name. */
export type JsonFile =
	| { readonly kind: "missing" }
	| { readonly kind: "unusable"; readonly why: string }
	| { readonly kind: "object"; readonly object: object };

/** For untrusted files: no link, no pipe, at most `maxBytes`. Never rejects, never quotes. */
export async function readJsonObject(path: string, maxBytes: number): Promise<JsonFile> {
	try {
		const file = await readRegularFile(path, maxBytes);
		if (file.kind === "read") return parse(file.bytes);
		if (file.kind === "missing") return file;
		return unusable(
			file.reason === "too-big" ? `is larger than ${maxBytes} bytes` : "is not a regular file",
		);
	} catch (error) {
		if (errnoOf(error) === "ENOTDIR") return { kind: "missing" };
		return unusable(`cannot be read (${errnoOf(error) ?? describeError(error)})`);
	}
}

function parse(bytes: Uint8Array): JsonFile {
	let value: unknown;
	try {
		// The fatal decoder drops a BOM and throws on invalid UTF-8.
		value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
	} catch {
		return unusable("is not valid JSON"); // the parser's own message quotes the file
	}
	const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
	return isObject ? { kind: "object", object: value as object } : unusable("is not a JSON object");
}

function unusable(why: string): JsonFile {
	return { kind: "unusable", why };
}
