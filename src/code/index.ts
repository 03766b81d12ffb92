export { commandAdvice, type Reader } from "./advice.ts";
export { type AnswerDetails, type Delivery, MOST_BYTES, wholeAnswer } from "./answer.ts";
export {
	BRIEFED_FILES,
	briefing,
	namedFiles,
	type TurnMessage,
	workedOnFiles,
} from "./auto-context.ts";
export { coverageLine } from "./coverage-text.ts";
export { depsForms } from "./deps-text.ts";
export { openEngine } from "./engine.ts";
export { impactForms } from "./impact-text.ts";
export { buildText, progressText, statusText } from "./index-text.ts";
export { type Asker, createKotaProject, type KotaProject } from "./project.ts";
export { type ProjectPaths, projectPaths } from "./project-paths.ts";
export { runTool, type ToolName, toolError } from "./run-tool.ts";
export { searchForms } from "./search-text.ts";
export { taskContextForms } from "./task-context-text.ts";
export type { ToolCalls } from "./tools.ts";
export { searchInput, searchQuery } from "./tools.ts";
export { usagesForms } from "./usages-text.ts";
