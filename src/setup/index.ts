/** Our parts in agents' own configurations: found, planned, written and taken back. */
export { AGENTS, agentNamed } from "./agents.ts";
export { applyFile, applyUndo, planUndo } from "./apply.ts";
export { Manifest, setupFolder } from "./manifest.ts";
export { type AgentPlan, findAgents, planAgent } from "./plan-agent.ts";
export { probeServer } from "./probe.ts";
export { startCommand } from "./start-command.ts";
export { type AgentStatus, agentStatus } from "./status.ts";
export type { Wish } from "./wanted.ts";
