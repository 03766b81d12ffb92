import { findModel, knownModel, knownModels } from "../economy/index.ts";
import type { ReplayModel } from "../economy/replay/index.ts";
import { nearest } from "../text/nearest.ts";
import { UsageError } from "./command.ts";

/** How replay gets the rules of models: by the name in the session file, or the same for all when one was asked for. */
export function modelsByName(
	asked: string | undefined,
): (name: ReplayModel["name"]) => ReplayModel {
	const instead = asked === undefined ? undefined : namedModel(asked);
	const found = new Map<string, ReplayModel>();
	return (name) => {
		const { provider, id } = instead ?? name;
		const key = `${provider}/${id}`;
		const known = found.get(key) ?? knownModel({ provider, id });
		found.set(key, known);
		return known;
	};
}

function namedModel(asked: string): ReplayModel["name"] {
	const model = findModel(asked);
	if (model) return model;
	const close = nearest(asked, [...new Set(knownModels().map(({ id }) => id))]);
	const hint = close ? `did you mean "${close}"?` : "use its id as in pi, e.g. claude-opus-4-5";
	throw new UsageError(`unknown model "${asked}"; ${hint}`);
}
