import type { CodeIndex } from "../codeindex/index.ts";
import type { Config } from "../core/config.ts";

/** What answers the questions. */
export interface Engine extends CodeIndex {
	/** Of an engine that is a program of its own: the last lines it wrote to its standard error. */
	stderr?(): readonly string[];
}

/** Opens the engine that the settings name. Its code is loaded here, when the first question comes. */
export async function openEngine(settings: Config["kota"], root: string): Promise<Engine> {
	if (settings.engine === "external") {
		const { openExternalKota } = await import("./external/index.ts");
		const { command, args, timeoutSeconds } = settings;
		return openExternalKota({ command, args, root, timeoutMs: timeoutSeconds * 1000 });
	}
	const { openCodeIndex } = await import("../codeindex/index.ts");
	return openCodeIndex({ root });
}
