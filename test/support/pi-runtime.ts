import { join } from "node:path";
import type {
	CompactionSettings,
	CreateAgentSessionRuntimeFactory,
	ExtensionError,
	ExtensionFactory,
	InlineExtension,
} from "@earendil-works/pi-coding-agent";
import { sdk } from "./pi-sdk.ts";
import type { ScriptedModel } from "./scripted-model.ts";

/** Shared by all sessions of one pi. */
export interface RuntimeOptions {
	agentDir: string;
	model: ScriptedModel;
	extensions?: readonly NamedExtension[];
	tools?: readonly string[];
	compaction?: CompactionSettings;
	/** Called for conflicts between extensions, such as two tools of the same name. */
	onConflict: (error: ExtensionError) => void;
}

/** An extension given as a function; the name stands for its path in pi's messages. */
export type NamedExtension = { name: string; factory: ExtensionFactory };

/**
 * The function pi calls for its first session and for each one that replaces it. Nothing is
 * discovered on disk: a session has the given extensions and the scripted model, no more.
 */
export async function createRuntimeFactory(
	options: RuntimeOptions,
): Promise<CreateAgentSessionRuntimeFactory> {
	const { model, extensions = [], tools, compaction, onConflict } = options;
	const settingsManager = sdk.SettingsManager.inMemory({
		compaction: { enabled: false, keepRecentTokens: 1, ...compaction },
		retry: { enabled: false },
	});
	const modelRuntime = await sdk.ModelRuntime.create({
		authPath: join(options.agentDir, "auth.json"),
		modelsPath: null,
		refreshOnCreate: false,
	});
	modelRuntime.registerNativeProvider(model.provider);

	return async ({ cwd, agentDir, sessionManager, sessionStartEvent }) => {
		const failures: unknown[] = [];
		const services = await sdk.createAgentSessionServices({
			cwd,
			agentDir,
			settingsManager,
			modelRuntime,
			resourceLoaderOptions: {
				extensionFactories: extensions.map((extension) => watched(extension, failures)),
				noExtensions: true,
				noSkills: true,
				noPromptTemplates: true,
				noThemes: true,
				noContextFiles: true,
			},
		});
		if (failures.length > 0) throw failures[0];
		for (const { path, error } of services.resourceLoader.getExtensions().errors) {
			onConflict({ extensionPath: path, event: "load", error });
		}
		const created = await sdk.createAgentSessionFromServices({
			services,
			sessionManager,
			model: model.model,
			...(sessionStartEvent && { sessionStartEvent }),
			...(tools && { tools: [...tools] }),
		});
		return { ...created, services, diagnostics: services.diagnostics };
	};
}

/** pi carries on without an extension that fails to load; a test should not. */
function watched({ name, factory }: NamedExtension, failures: unknown[]): InlineExtension {
	return {
		name,
		factory: async (pi) => {
			try {
				await factory(pi);
			} catch (error) {
				failures.push(error);
				throw error;
			}
		},
	};
}
