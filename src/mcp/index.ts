/** The tools for agents over MCP: code answers, pages in parts, and texts that were shortened. */
export { type HttpOptions, serveHttp } from "./http.ts";
export { createMcpServer, type McpOptions } from "./mcp-server.ts";
export { serveStdio } from "./stdio.ts";
