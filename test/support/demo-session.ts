import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentSession, ExtensionAPI } from "@earendil-works/pi-coding-agent";
import strata from "../../src/extension/index.ts";
import { DEMO_MODEL, startDemoProvider } from "../../src/server/demo/demo-provider.ts";
import { makeSampleProject } from "../../src/server/demo/sample-projects.ts";
import { enterAgentDir, leaveAgentDir } from "./agent-dir.ts";
import { sdk } from "./pi-sdk.ts";
import { atEnd, tempDir } from "./temp.ts";

/**
 * A session of pi with the demo's model on its sample project, and our extension. It ends with the test. Reports
 * of commands go to standard output in mode `print`, into the session in mode `json`.
 */
export async function openDemo(mode: "print" | "json" = "print"): Promise<AgentSession> {
	process.env.PI_OFFLINE = "1";
	const provider = await startDemoProvider({ wordsPerSecond: 100_000 });
	atEnd(() => provider.close());
	const cwd = await makeSampleProject(tempDir());
	const agentDir = tempDir();
	enterAgentDir(agentDir);
	atEnd(() => leaveAgentDir(agentDir));
	const modelsPath = join(agentDir, "models.json");
	const providers = { [DEMO_MODEL.provider]: provider.config };
	writeFileSync(modelsPath, JSON.stringify({ providers }));
	writeFileSync(join(agentDir, "strata.json"), JSON.stringify({ kota: { confirmIndex: false } }));
	const modelRuntime = await sdk.ModelRuntime.create({
		authPath: join(agentDir, "auth.json"),
		modelsPath,
		refreshOnCreate: false,
	});
	const settingsManager = sdk.SettingsManager.inMemory({ compaction: { enabled: false } });
	const resourceLoader = new sdk.DefaultResourceLoader({
		cwd,
		agentDir,
		settingsManager,
		extensionFactories: [
			{ name: "strata", factory: strata },
			{ name: "same-prompt", factory: (pi) => promptOfAnyPlace(pi, cwd) },
		],
		noExtensions: true,
		noSkills: true,
		noPromptTemplates: true,
		noThemes: true,
		noContextFiles: true,
	});
	await resourceLoader.reload();
	const model = modelRuntime.getModel(DEMO_MODEL.provider, DEMO_MODEL.id);
	if (!model) throw new Error(`pi did not take the demo model: ${modelRuntime.getError()}`);
	const { session } = await sdk.createAgentSession({
		cwd,
		agentDir,
		modelRuntime,
		model,
		settingsManager,
		resourceLoader,
		sessionManager: sdk.SessionManager.inMemory(cwd),
	});
	atEnd(() => session.dispose());
	await session.bindExtensions({ mode });
	return session;
}

/** Makes pi's prompt, and so every token count, independent of the paths of the clone and the temp folder. */
function promptOfAnyPlace(pi: ExtensionAPI, cwd: string): void {
	pi.on("before_agent_start", ({ systemPrompt }) => ({
		systemPrompt: systemPrompt
			.replaceAll(
				sdk.getPackageDir(),
				"/home/me/pi-strata/node_modules/@earendil-works/pi-coding-agent",
			)
			.replaceAll(cwd, "/home/me/shop"),
	}));
}
