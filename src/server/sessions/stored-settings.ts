import { property } from "../../core/property.ts";
import type { SessionModes } from "./session-settings.ts";

/** What a session's record holds beside its folder and file: enough to make it again where pi has no file of it. */
export interface StoredSettings extends SessionModes {
	/** Pi's own id, so that a session without a file comes back as the same one. */
	piSessionId?: string;
	name?: string;
	model?: { provider: string; id: string };
	thinkingLevel?: string;
	/** The tools a client chose; absent where nobody did. */
	tools?: string[];
	/** Where the session was moved to in its tree. Pi's files do not say: they go on from their last entry. */
	leaf?: { id: string | null; afterEntry: string };
	/** The last entry in the file as of the last change of the record: what is behind it later is not from this server. */
	lastEntry?: string;
	/** The last entry that was seen in the file, where that is another one: the file could not be written. */
	lastInFile?: string;
	/** A process was cut off and no later one has closed the session: the file may hold more of its work. */
	cutOff?: true;
	/** The folder whose own settings and extensions count. */
	trustedCwd?: string;
	/** As of the last change of the record, for lists. */
	messageCount?: number;
}

/** Reads settings that an earlier process, maybe of another version, has written. What does not fit is left out. */
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
