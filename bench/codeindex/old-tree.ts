import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { git } from "../runner/git.ts";
import { missing, sized } from "../support.ts";

const project = fileURLToPath(new URL("../..", import.meta.url));

/** The last commit before the index had skeletons, several languages and a compile cache. */
const OLD = "3b28c8ae";

/** A work tree of the old commit, or of STRATA_OLD_COMMIT, with the packages of this one. Removed at exit. */
export function oldTree(folder: string): string | undefined {
	const commit = process.env.STRATA_OLD_COMMIT ?? sized(OLD, "HEAD");
	const tree = join(folder, "tree");
	try {
		git(project, "worktree", "add", "--quiet", "--detach", tree, commit);
	} catch (error) {
		const [why] = (error as Error).message.split("\n").slice(-1);
		return missing("indexing compared with an old commit", `git has no ${commit}: ${why}`);
	}
	process.once("exit", () => {
		rmSync(tree, { recursive: true, force: true });
		git(project, "worktree", "prune");
	});
	symlinkSync(join(project, "node_modules"), join(tree, "node_modules"), "junction");
	return tree;
}
