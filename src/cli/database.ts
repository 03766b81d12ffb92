import { describeError } from "../core/errno.ts";
import { type DatabaseAddress, databaseFrom } from "../server/journal/postgres/index.ts";
import { type OptionValues, type Terminal, UsageError } from "./command.ts";

/** The address from `--database` or STRATA_DATABASE, if there is one. */
export function databaseOption(
	values: OptionValues,
	{ env }: Terminal,
): DatabaseAddress | undefined {
	try {
		return databaseFrom(values.database === undefined ? undefined : String(values.database), env);
	} catch (error) {
		throw new UsageError(describeError(error));
	}
}

export function requiredDatabase(values: OptionValues, terminal: Terminal): DatabaseAddress {
	const address = databaseOption(values, terminal);
	if (address) return address;
	throw new UsageError(
		"name the database with --database postgres://user@host/name, or STRATA_DATABASE",
	);
}
