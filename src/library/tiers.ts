/**
 * Prompts in cached tiers, for programs that build their own requests. Files, symbol entries and
 * history that stay unchanged graduate from `active` to L3 and rise to L0; an edit demotes them.
 * Stable content comes first in the prompt, so that the provider's prefix cache keeps hitting. A
 * controller decides each request's tiers, `placeByTier` and `assemble` lay the prompt out, and
 * `anthropicBody` adds the breakpoints. All names are pure, except
 * `TierStateFile` and `readLitellmSettings`: they access files in a project's folder and never reject.
 *
 * @example
 * Counts five requests with the same two files, then prints the next one for Anthropic's API.
 * ```ts
 * import { createHash } from "node:crypto";
 * import {
 * 	anthropicBody,
 * 	assemble,
 * 	type PromptItem,
 * 	placeByTier,
 * 	TierController,
 * } from "pi-strata/tiers";
 *
 * const contents: PromptItem[] = [
 * 	{ key: "src/add.ts", kind: "file", text: "export const add = (a, b) => a + b;\n" },
 * 	{ key: "src/zero.ts", kind: "file", text: "export const zero = 0;\n" },
 * ];
 * const files = contents.map(({ key, text }) => ({
 * 	key,
 * 	hash: createHash("sha256").update(text).digest("hex"),
 * 	tokens: Math.ceil(text.length / 4),
 * }));
 *
 * const controller = new TierController({ cacheMinTokens: 0 });
 * for (let request = 1; request <= 5; request++) controller.next({ files });
 * for (const [key, { tier }] of controller.items()) console.log(`${key}: ${tier}`);
 *
 * const messages = assemble({
 * 	system: "You are a careful programmer.",
 * 	...placeByTier(controller.items(), contents),
 * 	prompt: "What does add do?",
 * });
 * console.log(JSON.stringify(anthropicBody(messages), null, 2));
 * ```
 */
export {
	anthropicBody,
	assemble,
	type Prompt,
	type PromptItem,
	placeByTier,
} from "../tiers/assemble.ts";
export { TierController } from "../tiers/controller.ts";
export {
	historyHash,
	type Item as TierItem,
	symbolKey,
	TIERS,
	type Tier,
	type TrackedItem,
} from "../tiers/item.ts";
export { readLitellmSettings } from "../tiers/litellm-config.ts";
export { TierStateFile } from "../tiers/state-file.ts";
export { TierTracker } from "../tiers/tracker.ts";
