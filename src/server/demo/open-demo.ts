import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ModelRuntime } from "@earendil-works/pi-coding-agent";
import { errnoOf } from "../../core/errno.ts";
import { collapsed } from "../../text/one-line.ts";
import { DEMO_MODEL, startDemoProvider } from "./demo-provider.ts";
import type { SampleProjects } from "./sample-projects.ts";

/** The models that a server's sessions use. */
export interface Models {
	readonly modelRuntime: ModelRuntime;
	/** Set when the only model is the demo's. */
	readonly sampleProjects?: SampleProjects;
	close(): Promise<void>;
}

/** When the scripted demo model takes the place of the user's own. */
export type DemoMode = "auto" | "always" | "never";

export interface OpenModelsOptions {
	demo: DemoMode;
	/** For the demo. */
	sampleProjects: SampleProjects;
	warn(line: string): void;
}

/**
 * The user's own models and keys; where there are none, or by choice, the demo's model. Never both: a script must not be
 * picked by accident for real work. Broken files of models are reported to `warn`, not replaced by the demo.
 */
export async function openModels(
	agentDir: string,
	{ demo, sampleProjects, warn }: OpenModelsOptions,
): Promise<Models> {
	if (demo === "always") return await openDemo(sampleProjects);
	const authPath = join(agentDir, "auth.json");
	const modelsPath = join(agentDir, "models.json");
	const modelRuntime = await ModelRuntime.create({ authPath, modelsPath });
	const problem = (await faultIn(authPath)) ?? modelRuntime.getError();
	if (problem !== undefined) warn(`some of pi's models cannot be used: ${collapsed(problem)}`);
	const isUsable =
		demo === "never" || problem !== undefined || (await modelRuntime.getAvailable()).length > 0;
	return isUsable ? { modelRuntime, close: async () => {} } : await openDemo(sampleProjects);
}

/** Pi takes a broken file of keys for an empty one. */
async function faultIn(path: string): Promise<string | undefined> {
	try {
		JSON.parse(await readFile(path, "utf8"));
		return undefined;
	} catch (error) {
		// The parser's own words would show what is in the file.
		return errnoOf(error) === "ENOENT" ? undefined : `${path} cannot be read as JSON`;
	}
}

/** Nothing of it is written to disk, so a full one does not end the start. */
async function openDemo(sampleProjects: SampleProjects): Promise<Models> {
	const provider = await startDemoProvider();
	try {
		const modelRuntime = await ModelRuntime.create({
			credentials: NO_CREDENTIALS,
			modelsPath: null,
			refreshOnCreate: false,
		});
		modelRuntime.registerProvider(DEMO_MODEL.provider, provider.config);
		return { modelRuntime, sampleProjects, close: () => provider.close() };
	} catch (error) {
		await provider.close();
		throw error;
	}
}

/** None of the user's keys are to be seen. */
const NO_CREDENTIALS: NonNullable<
	NonNullable<Parameters<typeof ModelRuntime.create>[0]>["credentials"]
> = {
	read: async () => undefined,
	list: async () => [],
	modify: (_provider, change) => change(undefined),
	delete: async () => {},
};
