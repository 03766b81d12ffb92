import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { plainRead } from "../../../src/extension/pi-host.ts";
import { sdk } from "../../support/pi-sdk.ts";

/** Pi's own tools in a folder. */
export function createTools(cwd: string) {
	// All that these tools look at when they are called outside a session.
	const ctx = { cwd } as ExtensionContext;
	const edit = sdk.createEditToolDefinition(cwd);
	const write = sdk.createWriteToolDefinition(cwd);
	return {
		/** Pi's read as the extension gives it to the cache. */
		plain: plainRead(ctx, undefined),
		/** Pi's read of these bytes; of what is on the disk when there are none. */
		read: (args: { path: string; offset?: number; limit?: number }, bytes: Buffer | undefined) => {
			const operations = bytes && { readFile: async () => bytes, access: async () => {} };
			const read = sdk.createReadToolDefinition(cwd, operations && { operations });
			return settled(read.execute("own", args, undefined, undefined, ctx));
		},
		edit: (args: object) => settled(edit.execute("own", args as never, undefined, undefined, ctx)),
		write: (args: object) =>
			settled(write.execute("own", args as never, undefined, undefined, ctx)),
	};
}

/** What a tool returned or threw. */
export function settled<R>(result: Promise<R>): Promise<R | { error: string }> {
	return result.catch((error: Error) => ({ error: error.message }));
}
