import { configJsonSchema } from "../core/config.ts";
import { type Command, UsageError } from "./command.ts";

export const schema: Command = {
	name: "schema",
	usage: "[config | protocol]",
	details: [
		"config    the settings in strata.json (default)",
		"protocol  the server's commands, responses and events",
	],
	options: {},
	maxArguments: 1,
	words: ["config", "protocol"],
	async run(_options, [which = "config"], terminal) {
		terminal.print(JSON.stringify(await schemaOf(which), null, "\t"));
		return 0;
	},
};

async function schemaOf(which: string): Promise<object> {
	if (which === "config") return configJsonSchema();
	// Loaded on demand, since only one other command (`serve`) needs the protocol.
	if (which === "protocol") return (await import("../protocol/index.ts")).protocolJsonSchema();
	throw new UsageError(`unknown schema "${which}"; use config or protocol`);
}
