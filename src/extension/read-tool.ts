import {
	type AgentToolResult,
	createReadToolDefinition,
	type ExtensionAPI,
	type ExtensionContext,
} from "@earendil-works/pi-coding-agent";
import type { ReadCall } from "../readcache/index.ts";
import { plainRead } from "./plain-read.ts";

/** A call of `read` on its way through the chain. */
export interface ReadStep {
	call: ReadCall;
	ctx: ExtensionContext;
	/** Pi's own read. With `bytes` it shows those instead of reading the file again. */
	plain(call: ReadCall, bytes?: Buffer): Promise<ReadAnswer>;
}

export type ReadAnswer = AgentToolResult<unknown>;

/** One link of the chain: answers the call, or returns `undefined` to leave it to the next. */
export type ReadLink = (step: ReadStep) => Promise<ReadAnswer | undefined>;

/**
 * Registers `read`, which pi lets one extension own. Schema, description, prompt texts and renderers stay pi's; each
 * call goes through the links in order, and what none of them answers is pi's own.
 */
export function registerReadTool(pi: ExtensionAPI, links: ReadLink[]): void {
	const definition = createReadToolDefinition(process.cwd());
	pi.registerTool({
		...definition,
		async execute(toolCallId, params, signal, onUpdate, ctx) {
			const call: ReadCall = { ...params, toolCallId, signal };
			const plain = plainRead(ctx, onUpdate);
			for (const link of links) {
				const answer = await link({ call, ctx, plain });
				if (answer) return answer as Awaited<ReturnType<typeof definition.execute>>;
			}
			return plain(call);
		},
	});
}
