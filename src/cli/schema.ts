import { configJsonSchema } from "../core/config.ts";
import { type Command, UsageError } from "./command.ts";

export const schema: Command = {
	name: "schema",
	usage: "[config | protocol]",
	details: [
		"config    what strata.json may hold (the default)",
		"protocol  commands, responses and events of the server",
	],
	options: {},
	maxArguments: 1,
	async run(_options, [which = "config"], terminal) {
		terminal.print(JSON.stringify(await schemaOf(which), null, "\t"));
		return 0;
	},
};

async function schemaOf(which: string): Promise<object> {
	if (which === "config") return configJsonSchema();
	// Loaded on demand: of the other commands only `serve` needs the protocol.
	if (which === "protocol") return (await import("../protocol/index.ts")).protocolJsonSchema();
	throw new UsageError(`There is no schema "${which}"; say config or protocol.`);
}
