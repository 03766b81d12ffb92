import { isRecord } from "../../core/property.ts";

const isText = (value: unknown) => typeof value === "string";
const isFlag = (value: unknown) => typeof value === "boolean";
const isQueueMode = (value: unknown) => value === "all" || value === "one-at-a-time";

const FITS = {
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
	/** Last entry at the last save: later ones are not from this server. */
	lastEntry: isText,
	/** Last entry seen in the file, if different: a write failed. */
	lastInFile: isText,
	/** No clean close since a crash: the file may be ahead of the record. */
	cutOff: (value: unknown) => value === true,
	trustedCwd: isText,
	messageCount: (value: unknown) => typeof value === "number",
};

type Fitting<Fits> = Fits extends (value: unknown) => value is infer Value ? Value : never;

/** Recreates a session, also one without a pi file. */
export type StoredSettings = { [Name in keyof typeof FITS]?: Fitting<(typeof FITS)[Name]> };

/** Input may be of another version: drops what does not fit. */
export function parseSettings(stored: Record<string, unknown>): StoredSettings {
	const fits = (name: string, value: unknown) =>
		Object.hasOwn(FITS, name) && FITS[name as keyof typeof FITS](value);
	return Object.fromEntries(Object.entries(stored).filter(([name, value]) => fits(name, value)));
}

export type ChosenSettings = ReturnType<typeof chosenIn>;

/** Drops what pi's session knows itself. Settings added later are kept. */
export function chosenIn(settings: StoredSettings) {
	const { piSessionId, name, model, thinkingLevel, messageCount, ...rest } = settings;
	const { lastEntry, lastInFile, cutOff, ...chosen } = rest;
	return chosen;
}
