import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { createMcpServer, type McpOptions } from "./mcp-server.ts";

/** Serves the client at standard input and output. Resolves when it has gone. */
export async function serveStdio(options: McpOptions): Promise<void> {
	const server = createMcpServer(options);
	const isGone = new Promise<void>((resolve) => {
		process.stdin.once("end", resolve).once("close", resolve);
		// The client no longer reads.
		process.stdout.once("error", () => resolve());
	});
	await server.connect(new StdioServerTransport());
	await isGone;
	await server.close();
}
