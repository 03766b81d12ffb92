import { property } from "../../core/property.ts";

/** What a client has switched for one session, and only for it. */
export interface SessionModes {
	steeringMode?: "all" | "one-at-a-time";
	followUpMode?: "all" | "one-at-a-time";
	autoCompaction?: boolean;
	autoRetry?: boolean;
}

/** What a session's record holds besides its folder and file: enough to recreate it where pi has no file of it. */
export interface StoredSettings extends SessionModes {
	/** Pi's own id, for a session without a file. */
	piSessionId?: string;
	name?: string;
	model?: { provider: string; id: string };
	thinkingLevel?: string;
	tools?: string[];
	/** Where the session was moved to in its tree; pi's files continue from their last entry. */
	leaf?: { id: string | null; afterEntry: string };
	/** The last entry in the file as of the last change of the record: later ones are not from this server. */
	lastEntry?: string;
	/** The last entry seen in the file, if another one: the file could not be written. */
	lastInFile?: string;
	/** A process crashed and no later one has closed the session: the file may hold more of its work. */
	cutOff?: true;
	/** The folder whose own settings and extensions count. */
	trustedCwd?: string;
	messageCount?: number;
}

/** Reads settings of an earlier process, maybe of another version. Drops what does not fit. */
export function parseSettings(stored: Record<string, unknown>): StoredSettings {
	const { steeringMode, followUpMode, autoCompaction, autoRetry, messageCount } = stored;
	const settings: StoredSettings = {};
	for (const name of TEXTS) {
		const value = stored[name];
		if (typeof value === "string") settings[name] = value;
	}
	if (isQueueMode(steeringMode)) settings.steeringMode = steeringMode;
	if (isQueueMode(followUpMode)) settings.followUpMode = followUpMode;
	if (typeof autoCompaction === "boolean") settings.autoCompaction = autoCompaction;
	if (typeof autoRetry === "boolean") settings.autoRetry = autoRetry;
	if (typeof messageCount === "number") settings.messageCount = messageCount;
	if (stored.cutOff === true) settings.cutOff = true;
	if (isNames(stored.tools)) settings.tools = stored.tools;
	const provider = property(stored.model, "provider");
	const id = property(stored.model, "id");
	if (typeof provider === "string" && typeof id === "string") settings.model = { provider, id };
	const afterEntry = property(stored.leaf, "afterEntry");
	const leafId = property(stored.leaf, "id");
	if (typeof afterEntry === "string" && (leafId === null || typeof leafId === "string")) {
		settings.leaf = { id: leafId, afterEntry };
	}
	return settings;
}

const TEXTS = [
	"piSessionId",
	"name",
	"thinkingLevel",
	"trustedCwd",
	"lastEntry",
	"lastInFile",
] as const;

function isQueueMode(value: unknown): value is "all" | "one-at-a-time" {
	return value === "all" || value === "one-at-a-time";
}

function isNames(value: unknown): value is string[] {
	return Array.isArray(value) && value.every((name) => typeof name === "string");
}
