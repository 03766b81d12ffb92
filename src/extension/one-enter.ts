import type { Host } from "../session/index.ts";

type CommandOptions = Parameters<Host["registerCommand"]>[1];

/**
 * Offers no completion for a word that is complete: pi's editor takes Enter as a choice while it offers one, so
 * `/kota status` would need two.
 */
export function withOneEnter(options: CommandOptions): CommandOptions {
	const { getArgumentCompletions: complete } = options;
	if (!complete) return options;
	return {
		...options,
		async getArgumentCompletions(prefix) {
			const items = await complete(prefix);
			const isComplete = items?.some(({ value }) => value === prefix.trim());
			return isComplete ? null : items;
		},
	};
}
