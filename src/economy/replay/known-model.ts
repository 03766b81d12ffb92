import { findModel } from "../model-prices.ts";
import { type ModelInfo, rulesFor } from "../rules.ts";
import type { ReplayModel } from "./requests.ts";

/** A model with what is known about it without pi: by both its names, by its own alone, or nothing but the names. */
export function knownModel(name: ReplayModel["name"]): ReplayModel {
	const { provider, id } = name;
	const model: ModelInfo = findModel(`${provider}/${id}`) ?? findModel(id) ?? name;
	return { name, rules: rulesFor(model), prices: model.cost, contextWindow: model.contextWindow };
}
