import type { AgentSession } from "@earendil-works/pi-coding-agent";
import type { Model } from "../../protocol/index.ts";

type PiModel = NonNullable<AgentSession["model"]>;

/** A model as clients see it: without addresses and headers, which may hold keys. */
export function modelView(model: PiModel): Model {
	const known = views.get(model);
	if (known) return known;
	const { id, name, provider, api, reasoning, input, contextWindow, maxTokens, cost } = model;
	const view = { id, name, provider, api, reasoning, input, contextWindow, maxTokens, cost };
	views.set(model, view);
	return view;
}

/** Asked for with every state. */
const views = new WeakMap<PiModel, Model>();
