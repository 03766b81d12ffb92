import type { Command } from "./command.ts";
import { doctor } from "./doctor.ts";

/** `strata serve`: the main job. Until the server is there it shows what works on this machine. */
export const serve: Command = {
	name: "serve",
	summary: "Start the session server (not built yet: prints what doctor finds).",
	usage: "",
	options: {},
	async run(_options, _words, around) {
		around.print(
			"The session server is not part of this version yet. What works today runs inside pi:",
		);
		around.print("");
		around.print("  pi install <folder of this clone>     then, in pi: /strata");
		around.print("");
		await doctor.run({}, [], around);
		return 0;
	},
};
