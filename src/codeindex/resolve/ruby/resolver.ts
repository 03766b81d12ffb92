import { folderOf, joinPath } from "../../../core/project-path.ts";
import { BY_NAME, type CreateResolver } from "../../language.ts";
import { NOWHERE, PathIndex, toFile } from "../by-path/path-index.ts";

/** `require_relative` leads to a file beside, `require` to one below a `lib` folder. */
export const createResolver: CreateResolver = ({ files }) => {
	const index = new PathIndex(files);
	return {
		resolve(from, specifier) {
			if (specifier === BY_NAME) return NOWHERE;
			const end = /\.rb$/.test(specifier) ? "" : ".rb";
			if (specifier.startsWith(".")) {
				const path = joinPath(folderOf(from), specifier);
				const found = index.exact(`${path}${end}`);
				return found
					? toFile(found)
					: { kind: "unresolved", reason: `${path ?? specifier} is not in the project` };
			}
			const found =
				index.endingIn(`lib/${specifier}${end}`, from) ?? index.exact(`${specifier}${end}`);
			return found
				? toFile(found)
				: { kind: "external", name: specifier.split("/", 1)[0] ?? specifier };
		},
	};
};
