import { folderOf, joinPath } from "../../../core/project-path.ts";
import { BY_NAME, type CreateResolver } from "../../language.ts";
import { NOWHERE, PathIndex, toFile } from "../by-path/path-index.ts";

/** `"x.h"` is looked up beside the file, then by the end of the path; `<x.h>` only below an include folder. */
export const createResolver: CreateResolver = ({ files }) => {
	const index = new PathIndex(files);
	return {
		resolve(from, specifier) {
			if (specifier === BY_NAME) return NOWHERE;
			const path = specifier.replace(/^[<"]|[>"]$/g, "");
			const isSystem = specifier.startsWith("<");
			const beside = isSystem ? undefined : index.exact(joinPath(folderOf(from), path));
			const included = index.endingIn(`include/${path}`, from);
			// A name alone after `<` is more likely a header of the system than a file somewhere.
			const anywhere = isSystem && !path.includes("/") ? undefined : index.endingIn(path, from);
			const found = beside ?? included ?? anywhere;
			if (found !== undefined) return toFile(found);
			if (isSystem) return { kind: "external", name: path };
			return { kind: "unresolved", reason: `${path} is not in the project` };
		},
	};
};
