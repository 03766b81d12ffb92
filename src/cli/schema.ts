import { configJsonSchema } from "../core/config.ts";
import { protocolJsonSchema } from "../protocol/index.ts";
import { type Command, UsageError } from "./command.ts";

/** `strata schema`: JSON Schemas for editors and for writers of clients. */
export const schema: Command = {
	name: "schema",
	summary: "Print the JSON Schema of strata.json or of the server's protocol.",
	usage: "[config | protocol]",
	details: [
		"config    what strata.json may hold (the default)",
		"protocol  commands, responses and events of the server",
	],
	options: {},
	maxArguments: 1,
	async run(_options, [which = "config"], around) {
		around.print(JSON.stringify(schemaOf(which), null, "\t"));
		return 0;
	},
};

function schemaOf(which: string): object {
	if (which === "config") return configJsonSchema();
	if (which === "protocol") return protocolJsonSchema();
	throw new UsageError(`There is no schema "${which}"; say config or protocol.`);
}
