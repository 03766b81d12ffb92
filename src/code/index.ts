export { briefing, filesToBrief } from "./auto-context.ts";
export { answerTo, openEngine } from "./engine.ts";
export { buildText, progressText, statusText } from "./index-text.ts";
export { commandAdvice, projectPaths } from "./outline.ts";
export { type Asker, createKotaProject, type KotaProject } from "./project.ts";
export { runTool, toolError } from "./run-tool.ts";
export { searchInput } from "./tools.ts";
