import { type OptionValues, UsageError } from "./command.ts";

const MAX_PORT = 65_535;

/** How results are shortened, in `strata run`, `proxy` and `setup`. */
export const SAVINGS = ["off", "shadow", "birth"] as const;

/** `where`: what gave the value. */
export function portIn(value: OptionValues[string] | number, where = "--port"): number {
	const text = String(value);
	if (/^\d{1,5}$/.test(text) && Number(text) <= MAX_PORT) return Number(text);
	throw new UsageError(`${where} must be a number from 0 to ${MAX_PORT}, got "${text}"`);
}

export function wholeNumber(options: OptionValues, name: string, least = 1): number | undefined {
	const value = options[name];
	if (value === undefined) return undefined;
	if (/^\d{1,9}$/.test(String(value)) && Number(value) >= least) return Number(value);
	throw new UsageError(`--${name} must be a whole number of at least ${least}, got "${value}"`);
}

export function oneOf<const Choice extends string>(
	options: OptionValues,
	name: string,
	choices: readonly Choice[],
): Choice | undefined {
	const value = options[name];
	const found = choices.find((choice) => choice === value);
	if (found || value === undefined) return found;
	throw new UsageError(`--${name} must be one of ${choices.join(", ")}, got "${value}"`);
}
