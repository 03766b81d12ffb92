export { briefing, filesToBrief } from "./auto-context.ts";
export { buildText, consentText, progressText, statusText } from "./index-text.ts";
export { COMMAND_ADVICE, projectPaths, wholeAnswer } from "./outline.ts";
export { answerTo, type Caller, CodeProject, openEngine } from "./project.ts";
export { runTool } from "./run-tool.ts";
export { searchInput } from "./tool-inputs.ts";
