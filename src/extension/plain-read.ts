import {
	type AgentToolUpdateCallback,
	createReadToolDefinition,
	type ExtensionContext,
	getAgentDir,
	type ReadToolDetails,
	SettingsManager,
} from "@earendil-works/pi-coding-agent";
import type { PlainRead } from "../readcache/index.ts";

/** Pi's own definition of `read`: schema, description, prompt texts and renderers all come from it. */
type ReadDefinition = ReturnType<typeof createReadToolDefinition>;

/** Pi's own `read` for one call. Bytes that were read already are shown as they are, so that a file is read once. */
export function plainRead(
	ctx: ExtensionContext,
	onUpdate: AgentToolUpdateCallback<ReadToolDetails | undefined> | undefined,
): PlainRead<Awaited<ReturnType<ReadDefinition["execute"]>>> {
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

/** Only for text: the cache has looked at the bytes and knows that pi would not take them for an image. */
function operationsOn(bytes: Buffer) {
	return {
		readFile: async () => bytes,
		access: async () => {}, // it has been read, so it is readable
		detectImageMimeType: async () => undefined,
	};
}

/** The user's setting for images, which pi gives to its own `read` but not to extensions. */
function resizesImages(ctx: ExtensionContext): boolean {
	try {
		const projectTrusted = ctx.isProjectTrusted();
		return SettingsManager.create(ctx.cwd, getAgentDir(), { projectTrusted }).getImageAutoResize();
	} catch {
		return true; // pi's default; its own start has reported unreadable settings
	}
}
