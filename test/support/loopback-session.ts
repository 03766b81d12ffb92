import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentSession, ExtensionUIContext } from "@earendil-works/pi-coding-agent";
import { enterAgentDir, leaveAgentDir } from "./agent-dir.ts";
import {
	LOOPBACK_MODEL,
	type LoopbackAnthropic,
	type LoopbackModel,
	modelsJson,
} from "./loopback-anthropic.ts";
import type { NamedExtension } from "./pi-runtime.ts";
import { sdk } from "./pi-sdk.ts";
import { atEnd } from "./temp.ts";

/** How {@link openLoopbackSession} sets pi up. */
export interface LoopbackSessionOptions {
	loop: LoopbackAnthropic;
	/** Project folder and pi's user folder in one. */
	folder: string;
	model?: LoopbackModel;
	extensions?: readonly NamedExtension[];
	/** Default: `read` alone. */
	tools?: string[];
	uiContext?: Partial<ExtensionUIContext>;
	/** Default: "rpc" with a `uiContext`, else "print". */
	mode?: "print" | "rpc" | "tui";
	/** How much of the conversation a compaction keeps. Default: pi's. */
	keepRecentTokens?: number;
}

/** A session of pi that speaks to the loopback provider, kept in memory. Disposed of when the test ends. */
export async function openLoopbackSession(options: LoopbackSessionOptions): Promise<AgentSession> {
	const { loop, folder, model = {}, extensions = [], tools = ["read"], uiContext } = options;
	process.env.PI_OFFLINE = "1";
	enterAgentDir(folder);
	const modelsPath = join(folder, "models.json");
	writeFileSync(modelsPath, modelsJson(loop.url, model));
	const { keepRecentTokens } = options;
	const settingsManager = sdk.SettingsManager.inMemory({
		compaction: { enabled: false, ...(keepRecentTokens !== undefined && { keepRecentTokens }) },
		retry: { baseDelayMs: 1 },
	});
	const resourceLoader = new sdk.DefaultResourceLoader({
		cwd: folder,
		agentDir: folder,
		settingsManager,
		extensionFactories: [...extensions],
		noExtensions: true,
		noSkills: true,
		noPromptTemplates: true,
		noThemes: true,
		noContextFiles: true,
	});
	await resourceLoader.reload();
	const modelRuntime = await sdk.ModelRuntime.create({
		authPath: join(folder, "auth.json"),
		modelsPath,
		refreshOnCreate: false,
	});
	const loopModel = modelRuntime.getModel("loop", model.id ?? LOOPBACK_MODEL);
	if (!loopModel) throw new Error(`pi did not take models.json: ${modelRuntime.getError()}`);
	const { session } = await sdk.createAgentSession({
		cwd: folder,
		agentDir: folder,
		modelRuntime,
		model: loopModel,
		settingsManager,
		resourceLoader,
		sessionManager: sdk.SessionManager.inMemory(folder),
		tools,
	});
	atEnd(() => {
		session.dispose();
		leaveAgentDir(folder);
	});
	await session.bindExtensions({
		mode: options.mode ?? (uiContext ? "rpc" : "print"),
		...(uiContext && { uiContext: uiContext as ExtensionUIContext }),
		onError: (error) => {
			throw new Error(`an extension failed: ${error.error}`);
		},
	});
	return session;
}
