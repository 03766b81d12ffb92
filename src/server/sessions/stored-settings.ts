import { property } from "../../core/property.ts";

/** Set by a client for one session only. */
export interface SessionModes {
	steeringMode?: "all" | "one-at-a-time";
	followUpMode?: "all" | "one-at-a-time";
	autoCompaction?: boolean;
	autoRetry?: boolean;
}

/** Recreates a session, also one without a pi file. */
export interface StoredSettings extends SessionModes {
	/** Pi's id, for a session without a file. */
	piSessionId?: string;
	name?: string;
	model?: { provider: string; id: string };
	thinkingLevel?: string;
	tools?: string[];
	/** Position in the tree; pi continues from the last entry by default. */
	leaf?: { id: string | null; afterEntry: string };
	/** Last entry at the last save: later ones are not from this server. */
	lastEntry?: string;
	/** Last entry seen in the file, if different: a write failed. */
	lastInFile?: string;
	/** No clean close since a crash: the file may be ahead of the record. */
	cutOff?: true;
	trustedCwd?: string;
	messageCount?: number;
}

/** Input may be of another version: drops what does not fit. */
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
