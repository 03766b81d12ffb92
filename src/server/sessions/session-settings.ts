import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CONFIG_DIR_NAME, SettingsManager } from "@earendil-works/pi-coding-agent";

/** What a client has switched for one session, and only for it. */
export interface SessionModes {
	steeringMode?: "all" | "one-at-a-time";
	followUpMode?: "all" | "one-at-a-time";
	autoCompaction?: boolean;
	autoRetry?: boolean;
}

export interface SettingsPlace {
	cwd: string;
	agentDir: string;
	/** Whether the project's own settings, extensions and skills count. */
	projectTrusted: boolean;
}

/**
 * Pi's settings as one session sees them: the files, with the session's modes on top. Pi would write a changed mode to
 * the user's file, for all sessions and for the terminal too; here nothing is written.
 */
export function createSessionSettings(
	{ cwd, agentDir, projectTrusted }: SettingsPlace,
	modes: Readonly<SessionModes>,
): SettingsManager {
	const paths = {
		global: join(agentDir, "settings.json"),
		project: join(cwd, CONFIG_DIR_NAME, "settings.json"),
	};
	return SettingsManager.fromStorage(
		{
			withLock(scope, change) {
				const stored = readIfThere(paths[scope]);
				change(scope === "global" ? withModes(stored, modes) : stored);
			},
		},
		{ projectTrusted },
	);
}

function withModes(stored: string | undefined, modes: Readonly<SessionModes>): string | undefined {
	const { steeringMode, followUpMode, autoCompaction, autoRetry } = modes;
	if (Object.values(modes).every((mode) => mode === undefined)) return stored;
	const settings = parsed(stored);
	if (!settings) return stored; // pi says what is wrong with it
	return JSON.stringify({
		...settings,
		...(steeringMode && { steeringMode }),
		...(followUpMode && { followUpMode }),
		...(autoCompaction !== undefined && {
			compaction: { ...asObject(settings.compaction), enabled: autoCompaction },
		}),
		...(autoRetry !== undefined && {
			retry: { ...asObject(settings.retry), enabled: autoRetry },
		}),
	});
}

function parsed(stored: string | undefined): Record<string, unknown> | undefined {
	if (stored === undefined) return {};
	try {
		const value: unknown = JSON.parse(stored);
		return typeof value === "object" && value !== null ? { ...value } : undefined;
	} catch {
		return undefined;
	}
}

function asObject(value: unknown): object {
	return typeof value === "object" && value !== null ? value : {};
}

function readIfThere(path: string): string | undefined {
	try {
		return readFileSync(path, "utf8");
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
		throw error;
	}
}
