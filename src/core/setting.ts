import { findFault } from "../text/find-fault.ts";

export interface Setting<Value extends SettingValue = SettingValue> extends Sources {
	readonly default: Value;
	readonly description: string;
	/** Completes the sentence "must be …". */
	readonly requirement: string;
	/** JSON Schema as plain objects, since loading typebox takes longer than the rest of the startup. */
	readonly schema: Readonly<Record<string, unknown>>;
}

export type SettingValue =
	| boolean
	| number
	| string
	| readonly string[]
	| Readonly<Record<string, string>>;

interface Sources {
	/** Ignored in a project's files. Set for commands, folders and their limits, and questions to the user. */
	readonly userOnly?: true;
	/** If "append", a project's list extends the user's list instead of replacing it. */
	readonly projectMerge?: "append";
}

interface Bounds extends Sources {
	/** Default: 0. */
	readonly min?: number;
	readonly max?: number;
}

export interface SettingGroup<Settings = Readonly<Record<string, Setting>>> {
	readonly description: string;
	/** Whether `pi-kota.json` may contain the group. `strata.json` may contain every group. */
	readonly inKotaFile: boolean;
	readonly settings: Settings;
}

export function group<S>(description: string, settings: S): SettingGroup<S> {
	return { description, inKotaFile: false, settings };
}

export function kotaGroup<S>(description: string, settings: S): SettingGroup<S> {
	return { ...group(description, settings), inKotaFile: true };
}

/** Lists must stay short, since every read walks them and a repository may set them. */
const MAX_LIST_ITEMS = 200;
const MAX_ITEM_LENGTH = 512;

export function flag(value: boolean, description: string, sources?: Sources): Setting<boolean> {
	const schema = { type: "boolean" };
	return { default: value, description, requirement: "true or false", schema, ...sources };
}

export function int(
	value: number,
	description: string,
	{ min = 0, max, ...sources }: Bounds = {},
): Setting<number> {
	const requirement = `a whole number ${max === undefined ? `≥ ${min}` : `from ${min} to ${max}`}`;
	const schema = { type: "integer", minimum: min, maximum: max ?? Number.MAX_SAFE_INTEGER };
	return { default: value, description, requirement, schema, ...sources };
}

export function number(
	value: number,
	description: string,
	{ min = 0, max, ...sources }: Bounds & { max: number },
): Setting<number> {
	const schema = { type: "number", minimum: min, maximum: max };
	const requirement = `a number from ${min} to ${max}`;
	return { default: value, description, requirement, schema, ...sources };
}

export function text(value: string, description: string, sources?: Sources): Setting<string> {
	const schema = { type: "string" };
	return { default: value, description, requirement: "a string", schema, ...sources };
}

export function choice<const Choice extends string>(
	choices: readonly Choice[],
	value: NoInfer<Choice>,
	description: string,
	sources?: Sources,
): Setting<Choice> {
	const schema = { type: "string", enum: choices };
	const requirement = `one of ${choices.map((one) => `"${one}"`).join(", ")}`;
	return { default: value, description, requirement, schema, ...sources };
}

export function list(
	value: readonly string[],
	description: string,
	sources?: Sources,
): Setting<readonly string[]> {
	const items = { type: "string", maxLength: MAX_ITEM_LENGTH };
	const schema = { type: "array", maxItems: MAX_LIST_ITEMS, items };
	const requirement = `a list of at most ${MAX_LIST_ITEMS} strings, each of at most ${MAX_ITEM_LENGTH} characters`;
	return { default: value, description, requirement, schema, ...sources };
}

/** Web addresses by name: of https, or of http on this machine. */
export function addresses(
	value: Readonly<Record<string, string>>,
	description: string,
	sources?: Sources,
): Setting<Readonly<Record<string, string>>> {
	const schema = {
		type: "object",
		maxProperties: MAX_LIST_ITEMS,
		propertyNames: { type: "string", pattern: "^[a-z][a-z0-9-]{0,31}$" },
		additionalProperties: { type: "string", maxLength: MAX_ITEM_LENGTH, pattern: ADDRESS },
	};
	const requirement = `an object of at most ${MAX_LIST_ITEMS} web addresses (https://…, or http:// on this machine) by short lower-case names`;
	return { default: value, description, requirement, schema, ...sources };
}

const ADDRESS =
	"^(?:https://[^\\s/?#@\\\\]+|http://(?:localhost|127(?:\\.\\d{1,3}){3}|\\[::1\\])(?::\\d{1,5})?)(?:/[^\\s?#\\\\]*)?$";

export function accepts({ schema }: Setting, value: unknown): value is SettingValue {
	return findFault(schema, value) === undefined;
}

export function settingSchema(setting: Setting): Record<string, unknown> {
	const { description, schema, userOnly, projectMerge, default: value } = setting;
	const note = userOnly
		? " Only the user's own files can set it."
		: projectMerge
			? " A project's list is added to the user's."
			: "";
	return { description: description + note, ...schema, default: value };
}
