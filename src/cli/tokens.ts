import {
	addToken,
	listTokens,
	revokeTokens,
	withDatabase,
} from "../server/journal/postgres/index.ts";
import { counted } from "../text/figures.ts";
import { type Command, FLAG, TEXT, UsageError } from "./command.ts";
import { requiredDatabase } from "./database.ts";

export const tokens: Command = {
	name: "tokens",
	usage: "add <name> | revoke <name or fingerprint> | list [--database <url>] [--json]",
	details: [
		"",
		"Tokens in the database of several servers (strata serve --database). Sessions belong to the name. A change",
		"takes effect on every server within five seconds. add prints the token once: the database has only its",
		"digest. revoke takes a name, for all its tokens, or the fingerprint that list shows. The tokens of a single",
		"server are in its token file.",
	],
	options: { database: TEXT, json: FLAG },
	maxArguments: 2,
	words: ["add", "revoke", "list"],
	async run(values, [verb, which], terminal) {
		if (verb === "list" && which === undefined) {
			const all = await withDatabase(requiredDatabase(values, terminal), listTokens);
			if (values.json) terminal.print(JSON.stringify(all, null, 2));
			else if (all.length === 0) terminal.print("There are no tokens in the database.");
			for (const { name, fingerprint, createdAt } of values.json ? [] : all) {
				terminal.print(`${name.padEnd(20)} ${fingerprint}  ${createdAt.toISOString()}`);
			}
			return 0;
		}
		if (which === undefined || (verb !== "add" && verb !== "revoke")) {
			throw new UsageError("use add <name>, revoke <name or fingerprint>, or list");
		}
		const address = requiredDatabase(values, terminal);
		if (verb === "add") {
			const token = await withDatabase(address, (client) => addToken(client, which));
			terminal.print(values.json ? JSON.stringify({ name: which, token }) : token);
			return 0;
		}
		const revoked = await withDatabase(address, (client) => revokeTokens(client, which));
		terminal.print(
			values.json ? JSON.stringify({ revoked }) : `${counted(revoked, "token")} revoked`,
		);
		return revoked > 0 ? 0 : 1;
	},
};
