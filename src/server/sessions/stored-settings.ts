import { isRecord } from "../../core/property.ts";

const isText = (value: unknown) => typeof value === "string";
const isFlag = (value: unknown) => typeof value === "boolean";
const isQueueMode = (value: unknown) => value === "all" || value === "one-at-a-time";

const CHECKS = {
	// Set by a client for one session only.
	steeringMode: isQueueMode,
	followUpMode: isQueueMode,
	autoCompaction: isFlag,
	autoRetry: isFlag,
	/** Pi's id, for a session without a file. */
	piSessionId: isText,
	name: isText,
	model: (value: unknown): value is { provider: string; id: string } =>
		isRecord(value) && isText(value.provider) && isText(value.id),
	thinkingLevel: isText,
	tools: (value: unknown): value is string[] => Array.isArray(value) && value.every(isText),
	/** Position in the tree; pi continues from the last entry by default. */
	leaf: (value: unknown): value is { id: string | null; afterEntry: string } =>
		isRecord(value) && isText(value.afterEntry) && (value.id === null || isText(value.id)),
	/** Last entry at the last save: later entries are not from this server. */
	lastEntry: isText,
	/** Last entry seen in the file, if other than `lastEntry`: a write failed. */
	lastInFile: isText,
	/** Set after a crash or failed close: the file may be ahead of the record. */
	cutOff: (value: unknown) => value === true,
	trustedCwd: isText,
	messageCount: (value: unknown) => typeof value === "number",
};

type Valid<Check> = Check extends (value: unknown) => value is infer Value ? Value : never;

/** Enough to recreate a session, also one without a file. */
export type StoredSettings = { [Name in keyof typeof CHECKS]?: Valid<(typeof CHECKS)[Name]> };

/** Drops invalid settings: another version may have stored them. */
export function parseSettings(stored: Record<string, unknown>): StoredSettings {
	const isValid = (name: string, value: unknown) =>
		Object.hasOwn(CHECKS, name) && CHECKS[name as keyof typeof CHECKS](value);
	return Object.fromEntries(Object.entries(stored).filter(([name, value]) => isValid(name, value)));
}

export type ChosenSettings = ReturnType<typeof chosenIn>;

/** Drops settings that pi's session knows itself. */
export function chosenIn(settings: StoredSettings) {
	const { piSessionId, name, model, thinkingLevel, messageCount, ...rest } = settings;
	const { lastEntry, lastInFile, cutOff, ...chosen } = rest;
	return chosen;
}
