import { isRecord } from "../../core/property.ts";

const isText = (value: unknown) => typeof value === "string";
const isFlag = (value: unknown) => typeof value === "boolean";
const isQueueMode = (value: unknown) => value === "all" || value === "one-at-a-time";

const CHECKS = {
	// These four are set by a client for one session.
	steeringMode: isQueueMode,
	followUpMode: isQueueMode,
	autoCompaction: isFlag,
	autoRetry: isFlag,
	/** Pi's id, to find or create the session if there is no `file`. */
	piSessionId: isText,
	name: isText,
	model: (value: unknown): value is { provider: string; id: string } =>
		isRecord(value) && isText(value.provider) && isText(value.id),
	thinkingLevel: isText,
	tools: (value: unknown): value is string[] => Array.isArray(value) && value.every(isText),
	/** The chosen position in the tree. Without it, pi continues from the last entry. */
	leaf: (value: unknown): value is { id: string | null; afterEntry: string } =>
		isRecord(value) && isText(value.afterEntry) && (value.id === null || isText(value.id)),
	/** The last entry at the last save. Unless the server crashed, later entries are from another program. */
	lastEntry: isText,
	/** The last entry in the file, if a failed write makes it differ from `lastEntry`. */
	lastInFile: isText,
	/** Set after a crash or a failed close. The file may then be newer than the record. */
	cutOff: (value: unknown) => value === true,
	trustedCwd: isText,
	/** The file of a session that a pi in a terminal writes: this one follows it, and changes nothing. */
	watches: isText,
	messageCount: (value: unknown) => typeof value === "number",
};

type Valid<Check> = Check extends (value: unknown) => value is infer Value ? Value : never;

/** Everything needed to recreate a session, even without a file. */
export type StoredSettings = { [Name in keyof typeof CHECKS]?: Valid<(typeof CHECKS)[Name]> };

/** Drops invalid settings, which another version may have stored. */
export function parseSettings(stored: Record<string, unknown>): StoredSettings {
	const isValid = (name: string, value: unknown) =>
		Object.hasOwn(CHECKS, name) && CHECKS[name as keyof typeof CHECKS](value);
	return Object.fromEntries(Object.entries(stored).filter(([name, value]) => isValid(name, value)));
}

export type ChosenSettings = ReturnType<typeof chosenIn>;

/** Drops settings that pi's session has itself, and the file's state. */
export function chosenIn(settings: StoredSettings) {
	const { piSessionId, name, model, thinkingLevel, messageCount, ...rest } = settings;
	const { lastEntry, lastInFile, cutOff, ...chosen } = rest;
	return chosen;
}
