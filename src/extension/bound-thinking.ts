import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { bindsThinking } from "../economy/index.ts";
import { lastBoundAnswer } from "../session/index.ts";

/**
 * The entry of the last answer whose thinking is bound to all before it, by whichever model gave it: the user may go back
 * to that model. `undefined` where every edit is harmless.
 */
export function boundAnswer(
	{ sessionManager, modelRegistry }: Pick<ExtensionContext, "sessionManager" | "modelRegistry">,
	binds: typeof bindsThinking,
): string | undefined {
	return lastBoundAnswer(sessionManager, (model) =>
		binds(modelRegistry.find(model.provider, model.id) ?? model),
	);
}
