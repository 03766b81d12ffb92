import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import type { SessionSource } from "./session-source.ts";

/** A model by its names, as an answer in a session states them. */
export interface AnsweringModel {
	readonly provider: string;
	readonly id: string;
}

/**
 * The entry of the last answer whose thinking is bound to everything before it: an edit before that entry would lose it.
 * `binds` says which models bind. `undefined` where any edit is harmless: no such answer since the last compaction, which
 * replaced the beginning and with it lost the thinking of all answers that it kept.
 */
export function lastBoundAnswer(
	source: Pick<SessionSource, "getBranch">,
	binds: (model: AnsweringModel) => boolean,
): string | undefined {
	const bound = source.getBranch().findLast((entry) => {
		if (entry.type === "compaction") return true;
		const model = thinkingModel(entry);
		return model !== undefined && binds(model);
	});
	return bound?.type === "compaction" ? undefined : bound?.id;
}

/** The model whose thinking an entry holds. Pi does not send answers that failed or were aborted. */
function thinkingModel(entry: SessionEntry): AnsweringModel | undefined {
	if (entry.type !== "message" || entry.message.role !== "assistant") return undefined;
	const { content, stopReason, provider, model } = entry.message;
	if (stopReason === "error" || stopReason === "aborted") return undefined;
	const thinks = content.some(({ type }) => type === "thinking");
	return thinks ? { provider, id: model } : undefined;
}
