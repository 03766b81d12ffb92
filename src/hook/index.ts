/** Savings at birth in agents' own hooks: without a proxy, before a result is first sent. */

export { ClaudeHook } from "./claude-hook.ts";
export { KNOWN_TOOLS } from "./claude-tools.ts";
export { handleOpencode } from "./opencode.ts";
export { HOOK_STORE, hookFolder, noteSaved, type SavedSum, savedSums } from "./saved-log.ts";
