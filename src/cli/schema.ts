import { configJsonSchema } from "../core/config.ts";
import type { Command } from "./command.ts";

/** `strata schema`: the JSON Schema of strata.json, for editors. */
export const schema: Command = {
	name: "schema",
	summary: "Print the JSON Schema of strata.json.",
	usage: "",
	options: {},
	async run(_options, _words, around) {
		around.print(JSON.stringify(configJsonSchema(), null, "\t"));
		return 0;
	},
};
