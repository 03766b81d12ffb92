import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ModelRuntime } from "@earendil-works/pi-coding-agent";
import { errnoOf } from "../../core/errno.ts";
import { collapsed } from "../../text/one-line.ts";
import { DEMO_MODEL, startDemoProvider } from "./demo-provider.ts";
import type { SampleProjects } from "./sample-projects.ts";

export interface Models {
	readonly modelRuntime: ModelRuntime;
	/** Set if the only model is the demo's. */
	readonly sampleProjects?: SampleProjects;
	close(): Promise<void>;
}

export type DemoMode = "auto" | "always" | "never";

export interface OpenModelsOptions {
	demo: DemoMode;
	sampleProjects: SampleProjects;
	warn(line: string): void;
}

/** The user's models, or else the demo's. Never both: real work must not pick a script. */
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

/** Pi treats a broken key file as empty. */
async function faultIn(path: string): Promise<string | undefined> {
	try {
		JSON.parse(await readFile(path, "utf8"));
		return undefined;
	} catch (error) {
		// The parser's message would quote the file's content.
		return errnoOf(error) === "ENOENT" ? undefined : `${path} cannot be read as JSON`;
	}
}

/** Writes nothing to disk, so a full disk does not prevent the start. */
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

/** Hides the user's keys. */
const NO_CREDENTIALS: NonNullable<
	NonNullable<Parameters<typeof ModelRuntime.create>[0]>["credentials"]
> = {
	read: async () => undefined,
	list: async () => [],
	modify: (_provider, change) => change(undefined),
	delete: async () => {},
};
