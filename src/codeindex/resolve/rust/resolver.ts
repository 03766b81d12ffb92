import { below, folderOf, foldersUpwards, nameOf } from "../../../core/project-path.ts";
import { BY_NAME, type CreateResolver } from "../../language.ts";
import { NOWHERE, PathIndex, toFile } from "../by-path/path-index.ts";
import type { ModuleResolution } from "../specifier.ts";

/** `mod a;` and paths from `crate`, `self` and `super` lead to files. Other paths start at a crate. */
export const createResolver: CreateResolver = ({ files }) => {
	const index = new PathIndex(files);
	const module = (folder: string, name: string) =>
		index.exact(below(folder, `${name}.rs`)) ?? index.exact(below(folder, `${name}/mod.rs`));

	/** Follows names as far as they are modules; what remains is declared in the last one. */
	const follow = (folder: string, names: readonly string[], self: string | undefined) => {
		let at = folder;
		let found = self;
		for (const name of names) {
			const next = module(at, name);
			if (next === undefined) break;
			found = next;
			at = below(at, name);
		}
		return found === undefined ? NOWHERE : toFile(found);
	};

	return {
		resolve(from, specifier): ModuleResolution {
			if (specifier === BY_NAME) return NOWHERE;
			const [, declared] = /^mod (.+)$/.exec(specifier) ?? [];
			const own = ownFolder(from);
			if (declared !== undefined) {
				const found = module(own, declared);
				return found
					? toFile(found)
					: { kind: "unresolved", reason: `module ${declared} has no file` };
			}
			const [first = "", ...rest] = specifier.split("::");
			if (first === "self") return follow(own, rest, undefined);
			if (first === "super") {
				let folder = folderOf(own);
				while (rest[0] === "super") {
					rest.shift();
					folder = folderOf(folder);
				}
				return follow(folder, rest, module(folderOf(folder), nameOf(folder)));
			}
			if (first === "crate") {
				const root = crateRoot(from, index);
				return root === undefined ? NOWHERE : follow(folderOf(root), rest, root);
			}
			const inner = module(own, first);
			if (inner !== undefined) return follow(own, [first, ...rest], undefined);
			return { kind: "external", name: first };
		},
	};
};

/** Where a file's inner modules are: beside `mod.rs`, `lib.rs` and `main.rs`, else in a folder of its name. */
function ownFolder(path: string): string {
	const name = nameOf(path).replace(/\.rs$/, "");
	return /^(?:mod|lib|main)$/.test(name) ? folderOf(path) : below(folderOf(path), name);
}

function crateRoot(from: string, index: PathIndex): string | undefined {
	for (const folder of foldersUpwards(folderOf(from))) {
		for (const name of ["lib.rs", "main.rs"]) {
			const found = index.exact(below(folder, name));
			if (found !== undefined) return found;
		}
	}
	return undefined;
}
