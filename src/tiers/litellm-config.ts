import { join } from "node:path";
import { property } from "../core/property.ts";
import { accepts, settingGroups } from "../core/settings.ts";
import { readJsonObject } from "./json-file.ts";

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
