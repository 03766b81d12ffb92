import { existsSync } from "node:fs";
import { join } from "node:path";
import { configuredFolder } from "../core/places.ts";
import {
	homeOf,
	importJournal,
	lockDataFolder,
	withDatabase,
} from "../server/journal/postgres/index.ts";
import { counted } from "../text/figures.ts";
import { type Command, FLAG, TEXT, UsageError } from "./command.ts";
import { requiredDatabase } from "./database.ts";
import { serverFolder } from "./serve.ts";

/** Long: a large journal takes minutes. */
const MIGRATION_MS = 30 * 60_000;

export const journal: Command = {
	name: "journal",
	usage: "migrate [--data-dir <folder>] [--database <url>] [--json]",
	details: [
		"",
		"Copies the journal of a stopped server, and the conversations of its sessions, into an empty database for",
		"strata serve --database. All or nothing; the data folder stays as it is.",
	],
	options: { "data-dir": TEXT, database: TEXT, json: FLAG },
	maxArguments: 1,
	words: ["migrate"],
	async run(values, [verb], terminal) {
		if (verb !== "migrate") throw new UsageError("use journal migrate");
		const address = requiredDatabase(values, terminal);
		const named = values["data-dir"];
		const dataDir =
			named === undefined
				? serverFolder(terminal.env)
				: configuredFolder(String(named), terminal.cwd);
		if (!existsSync(join(dataDir, "journal.db"))) throw noJournal(dataDir);
		const lock = await lockDataFolder(dataDir);
		try {
			const home = await homeOf(dataDir);
			const imported = await withDatabase(
				address,
				(client) => importJournal(client, { dataDir, home }),
				MIGRATION_MS,
			);
			const { sessions, commands, events, conversations } = imported;
			terminal.print(
				values.json
					? JSON.stringify(imported)
					: `copied ${counted(sessions, "session")}, ${counted(commands, "command")}, ${counted(events, "event")} and ${counted(conversations, "conversation")} to ${address.description}`,
			);
			return 0;
		} finally {
			lock.release();
		}
	},
};

function noJournal(dataDir: string): Error {
	return new Error(
		`there is no journal.db in ${dataDir}; name the data folder of the server with --data-dir`,
	);
}
