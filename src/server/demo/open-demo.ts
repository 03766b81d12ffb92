import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ModelRuntime } from "@earendil-works/pi-coding-agent";
import { startDemoProvider } from "./demo-provider.ts";
import { makeSampleProject } from "./sample-project.ts";

/** The models that a server's sessions use, and where a session starts that names no folder. */
export interface Models {
	readonly modelRuntime: ModelRuntime;
	/** Set when the only model is the demo's: makes a sample project for a session, so that it touches nothing else. */
	readonly newFolder?: () => Promise<string>;
	close(): Promise<void>;
}

/** When the scripted demo model takes the place of the user's own. */
export type DemoMode = "auto" | "always" | "never";

/**
 * The user's own models and keys; where there are none, or by choice, the demo's model. Never both: a script must not be
 * picked by accident for real work.
 */
export async function openModels(agentDir: string, demo: DemoMode): Promise<Models> {
	if (demo !== "always") {
		const modelRuntime = await ModelRuntime.create({
			authPath: join(agentDir, "auth.json"),
			modelsPath: join(agentDir, "models.json"),
		});
		const isUsable = demo === "never" || (await modelRuntime.getAvailable()).length > 0;
		if (isUsable) return { modelRuntime, close: async () => {} };
	}
	return await openDemo();
}

async function openDemo(): Promise<Models> {
	const provider = await startDemoProvider();
	const folder = await mkdtemp(join(tmpdir(), "strata-demo-models-"));
	const projects: string[] = [];
	try {
		const modelsPath = join(folder, "models.json");
		await writeFile(modelsPath, provider.modelsJson, { mode: 0o600 });
		// A file of its own for keys too: none of the user's are to be seen.
		const modelRuntime = await ModelRuntime.create({
			authPath: join(folder, "auth.json"),
			modelsPath,
			refreshOnCreate: false,
		});
		return {
			modelRuntime,
			async newFolder() {
				const project = await makeSampleProject();
				projects.push(project);
				return project;
			},
			async close() {
				await provider.close();
				for (const path of [folder, ...projects]) await rm(path, { recursive: true, force: true });
			},
		};
	} catch (error) {
		await provider.close();
		await rm(folder, { recursive: true, force: true });
		throw error;
	}
}
