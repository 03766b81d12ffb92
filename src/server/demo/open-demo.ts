import { lstat, mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { ModelRuntime } from "@earendil-works/pi-coding-agent";
import { openCodeIndex } from "../../codeindex/index.ts";
import { writeFileAtomic } from "../../core/atomic-file.ts";
import { errnoOf } from "../../core/errno.ts";
import { startDemoProvider } from "./demo-provider.ts";
import { makeSampleProject } from "./sample-project.ts";

/** The models that a server's sessions use, and where a session starts that names no folder. */
export interface Models {
	readonly modelRuntime: ModelRuntime;
	/** Set when the only model is the demo's. */
	readonly sampleProjects?: SampleProjects;
	close(): Promise<void>;
}

/** What the demo works on, and nothing else. */
export interface SampleProjects {
	/** Where they all are. */
	readonly folder: string;
	/** Makes one for a session. */
	make(): Promise<string>;
}

/** When the scripted demo model takes the place of the user's own. */
export type DemoMode = "auto" | "always" | "never";

/**
 * The user's own models and keys; where there are none, or by choice, the demo's model. Never both: a script must not be
 * picked by accident for real work. Nor does it stand in for models whose files are broken: then `warn` is told.
 */
export async function openModels(
	agentDir: string,
	{ demo, demoFolder, warn }: { demo: DemoMode; demoFolder: string; warn(line: string): void },
): Promise<Models> {
	if (demo === "always") return await openDemo(demoFolder);
	const authPath = join(agentDir, "auth.json");
	const modelsPath = join(agentDir, "models.json");
	const modelRuntime = await ModelRuntime.create({ authPath, modelsPath });
	const problem = (await faultIn(authPath)) ?? modelRuntime.getError();
	if (problem !== undefined) warn(`some of pi's models cannot be used: ${oneLine(problem)}`);
	const isUsable =
		demo === "never" || problem !== undefined || (await modelRuntime.getAvailable()).length > 0;
	return isUsable ? { modelRuntime, close: async () => {} } : await openDemo(demoFolder);
}

/** What is wrong with a file of keys; pi takes a broken one for an empty one. */
async function faultIn(path: string): Promise<string | undefined> {
	try {
		JSON.parse(await readFile(path, "utf8"));
		return undefined;
	} catch (error) {
		// The parser's own words would show what is in the file.
		return errnoOf(error) === "ENOENT" ? undefined : `${path} cannot be read as JSON`;
	}
}

function oneLine(text: string): string {
	return text.replaceAll(/\s+/g, " ").trim();
}

/** Sample projects stay for a while after the server has stopped: their sessions may be taken up again. */
const KEPT_MS = 7 * 24 * 60 * 60 * 1000;

async function openDemo(folder: string): Promise<Models> {
	const projects = join(folder, "projects");
	await sweep(projects);
	const provider = await startDemoProvider();
	try {
		const modelsPath = join(folder, "models.json");
		await writeFileAtomic(modelsPath, provider.modelsJson);
		// A file of its own for keys too: none of the user's are to be seen.
		const modelRuntime = await ModelRuntime.create({
			authPath: join(folder, "auth.json"),
			modelsPath,
			refreshOnCreate: false,
		});
		return {
			modelRuntime,
			sampleProjects: {
				folder: projects,
				async make() {
					const project = await makeSampleProject(projects);
					await index(project);
					return project;
				},
			},
			close: () => provider.close(),
		};
	} catch (error) {
		await provider.close();
		throw error;
	}
}

/** The project is ours, so nobody has to be asked whether it may be indexed. */
async function index(project: string): Promise<void> {
	const code = await openCodeIndex({ root: project });
	try {
		await code.build();
	} finally {
		await code.close();
	}
}

async function sweep(projects: string): Promise<void> {
	await mkdir(projects, { recursive: true, mode: 0o700 });
	for (const name of await readdir(projects)) {
		const path = join(projects, name);
		const stats = await lstat(path).catch(() => undefined);
		if (!stats || Date.now() - stats.mtimeMs < KEPT_MS) continue;
		await rm(path, { recursive: true, force: true });
	}
}
