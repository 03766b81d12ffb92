import { BY_NAME, type CreateResolver } from "../../language.ts";
import { NOWHERE, PathIndex, toFile } from "../by-path/path-index.ts";

/** `import a.b.C` leads to a file whose path ends in `a/b/C.java`. */
export const createResolver: CreateResolver = ({ files }) => {
	const index = new PathIndex(files);
	return {
		resolve(from, specifier) {
			if (specifier === BY_NAME) return NOWHERE;
			const isStatic = specifier.startsWith("static ");
			const names = specifier
				.replace(/^static /, "")
				.replace(/\.\*$/, "")
				.split(".");
			// Inner types and static members follow the name of the file.
			for (let length = names.length; length > 0; length--) {
				const found = index.endingIn(`${names.slice(0, length).join("/")}.java`, from);
				if (found !== undefined && (length > 1 || names.length === 1)) return toFile(found);
			}
			const outer = names.slice(0, isStatic ? -2 : -1);
			return { kind: "external", name: (outer.length > 0 ? outer : names).join(".") };
		},
	};
};
