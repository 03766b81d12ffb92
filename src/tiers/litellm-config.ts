import { join } from "node:path";
import { describeError, errnoOf } from "../core/errno.ts";
import { property } from "../core/property.ts";
import { readRegularFile } from "../core/regular-file.ts";
import { accepts, settingGroups } from "../core/settings.ts";

/** What a project's `litellm.json` says about tiers; keys it does not set are absent. */
export interface LitellmSettings {
	readonly cacheMinTokens?: number;
	readonly cacheBufferMultiplier?: number;
}

/**
 * Reads `litellm.json` at the root of a project. Other keys are other programs' business. Never rejects: a missing file
 * says nothing, an unusable file or value is a warning. No text of the file gets into a warning, for it may hold keys.
 */
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

/** What {@link readJsonObject} found; `why` completes a sentence that begins with the file's name. */
export type JsonFile =
	| { readonly kind: "missing" }
	| { readonly kind: "unusable"; readonly why: string }
	| { readonly kind: "object"; readonly object: object };

/**
 * Reads a JSON object from a file that a repository may have brought: no link, no pipe, no more than `maxBytes`. Never
 * rejects, and quotes nothing of the file.
 */
export async function readJsonObject(path: string, maxBytes: number): Promise<JsonFile> {
	try {
		const file = await readRegularFile(path, maxBytes);
		if (file.kind === "read") return parse(file.bytes);
		if (file.kind === "missing") return file;
		return unusable(
			file.reason === "too-big" ? `is larger than ${maxBytes} bytes` : "is not a regular file",
		);
	} catch (error) {
		// Something that is no folder stands where a folder should: there is no such file either.
		if (errnoOf(error) === "ENOTDIR") return { kind: "missing" };
		return unusable(`cannot be read (${errnoOf(error) ?? describeError(error)})`);
	}
}

function parse(bytes: Uint8Array): JsonFile {
	let value: unknown;
	try {
		// The decoder drops a BOM and, being fatal, throws on anything that is not UTF-8.
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
