import type { CreateResolver } from "../../language.ts";
import { NOWHERE } from "../by-path/path-index.ts";

/** A `using` names a namespace, which has no file. Namespaces of the platform are named as such. */
export const createResolver: CreateResolver = () => ({
	resolve(_from, specifier) {
		return /^(?:System|Microsoft)\b/.test(specifier)
			? { kind: "external", name: specifier }
			: NOWHERE;
	},
});
