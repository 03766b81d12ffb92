import { checkDatabase, type DatabaseFinding } from "../server/journal/postgres/index.ts";
import type { OptionValues, Terminal } from "./command.ts";
import { databaseOption } from "./database.ts";

/** Nothing without a database. */
export async function checkNamedDatabase(
	values: OptionValues,
	terminal: Terminal,
): Promise<DatabaseFinding[]> {
	const address = databaseOption(values, terminal);
	return address ? checkDatabase(address) : [];
}
