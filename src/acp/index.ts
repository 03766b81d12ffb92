/** Sessions of the server as an agent that editors speak to over ACP. */
export { type AcpOptions, createAcpAgent } from "./agent.ts";
export { serveStdio } from "./stdio.ts";
