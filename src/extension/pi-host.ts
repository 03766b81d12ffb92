import {
	type AgentToolUpdateCallback,
	createReadToolDefinition,
	DEFAULT_MAX_BYTES,
	DEFAULT_MAX_LINES,
	type ExtensionAPI,
	type ExtensionContext,
	getAgentDir,
	type ReadToolDetails,
	SettingsManager,
} from "@earendil-works/pi-coding-agent";
import { property } from "../core/property.ts";
import { foldReadInput } from "../core/read-input.ts";
import type { Host, PlainRead } from "../session/index.ts";
import { createReport, withOneEnter } from "./commands.ts";
import { type Renderers, withEffect } from "./effect-line.ts";
import { registerRenderers, renderersOf, showEffects } from "./render.ts";

export function createPiHost(pi: ExtensionAPI): Host {
	registerRenderers(pi);
	showEffects(pi);
	return {
		agentDir: getAgentDir(),
		readLimits: { maxLines: DEFAULT_MAX_LINES, maxBytes: DEFAULT_MAX_BYTES },
		registerTool: (tool) => pi.registerTool({ ...tool, ...renderersOf(tool.name) }),
		registerCommand: (name, options) => pi.registerCommand(name, withOneEnter(options)),
		appendEntry: (type, data) => pi.appendEntry(type, data),
		sendMessage: (message, options) => pi.sendMessage(message, options),
		getThinkingLevel: () => pi.getThinkingLevel(),
		getActiveTools: () => pi.getActiveTools(),
		setActiveTools: (names) => pi.setActiveTools(names),
		report: createReport(pi),
		ownRead: (answer, guidelines) => ownRead(pi, answer, guidelines),
		// Pi uses the `read` that was loaded first. Our extension is found by its `/strata` command.
		otherReadOwner() {
			const owner = pi.getAllTools().find((tool) => tool.name === "read")?.sourceInfo;
			const own = pi.getCommands().find((command) => command.name === "strata")?.sourceInfo;
			return owner && own && owner.path !== own.path ? owner.path : undefined;
		},
	};
}

/** Only one extension can own `read`. The tool keeps pi's schema, texts and renderers. */
function ownRead(pi: ExtensionAPI, ...[answer, guidelines]: Parameters<Host["ownRead"]>): void {
	const definition = createReadToolDefinition(process.cwd());
	pi.registerTool({
		...definition,
		...withEffect("read", definition as Renderers),
		promptGuidelines: [...(definition.promptGuidelines ?? []), ...guidelines],
		prepareArguments: prepareReadInput as NonNullable<typeof definition.prepareArguments>,
		async execute(toolCallId, params, signal, onUpdate, ctx) {
			const call = { ...params, toolCallId, signal };
			const answered = await answer(call, ctx, plainRead(ctx, onUpdate));
			return answered as Awaited<ReturnType<typeof definition.execute>>;
		},
	});
}

/** Accepts the paging form too (`uri`, `cursor`, `max_chars`). */
function prepareReadInput(input: unknown): unknown {
	const size = property(input, "max_chars") ?? undefined;
	if (size !== undefined && !(Number.isSafeInteger(size) && Number(size) > 0)) {
		throw new Error(`max_chars must be a whole number of at least 64, got ${JSON.stringify(size)}`);
	}
	return foldReadInput(input);
}

export function plainRead(
	ctx: ExtensionContext,
	onUpdate: AgentToolUpdateCallback<ReadToolDetails | undefined> | undefined,
): PlainRead {
	return ({ toolCallId, path, offset, limit, signal }, bytes) => {
		const definition = createReadToolDefinition(
			ctx.cwd,
			bytes ? { operations: operationsOn(bytes) } : { autoResizeImages: resizesImages(ctx) },
		);
		const input = {
			path,
			...(offset !== undefined && { offset }),
			...(limit !== undefined && { limit }),
		};
		return definition.execute(toolCallId, input, signal, onUpdate, ctx);
	};
}

/** For text only: the callers make sure that the bytes are not an image. */
function operationsOn(bytes: Buffer) {
	return {
		readFile: async () => bytes,
		access: async () => {}, // it has been read, so it is readable
		detectImageMimeType: async () => undefined,
	};
}

/** Reads the settings files, since pi does not pass this setting to extensions. */
function resizesImages(ctx: ExtensionContext): boolean {
	try {
		const projectTrusted = ctx.isProjectTrusted();
		return SettingsManager.create(ctx.cwd, getAgentDir(), { projectTrusted }).getImageAutoResize();
	} catch {
		return true; // pi's default; pi reported unreadable settings when it started
	}
}
