import { existsSync } from "node:fs";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { expandHome } from "../core/places.ts";

/**
 * Paths between the model and the index. The index has them from the project's root; the model writes and reads them
 * from the working folder, as pi's other tools do, so that every path of an answer can be read as it stands.
 */
export interface ProjectPaths {
	readonly root: string;
	readonly cwd: string;
	/** A path of the index as the model should write it. */
	show(path: string): string;
	/** A path from the model as the index has it. One that leaves the project keeps its `..`. */
	find(path: string): string;
}

export function projectPaths(
	root: string,
	cwd: string,
	exists: (path: string) => boolean = existsSync,
): ProjectPaths {
	const fromRoot = (path: string) => slashed(relative(root, path));
	const folder = fromRoot(cwd);
	const outside = `${slashed(relative(cwd, root))}/`;
	const fromOutside = (path: string) => outside + path;
	return {
		root,
		cwd,
		show: /^\.\.(?:\/|$)/.test(folder) ? fromOutside : fromFolder(folder),
		find(path) {
			// Pi's tools take a path with a leading @ too, as people mention files.
			const candidates = path.startsWith("@") ? [path, path.slice(1)] : [path];
			const places = candidates
				.map(expandHome)
				.flatMap((plain) =>
					isAbsolute(plain) ? [resolve(plain)] : [resolve(cwd, plain), resolve(root, plain)],
				);
			return fromRoot(places.find(exists) ?? places[0] ?? cwd);
		},
	};
}

/** From one folder of the project to its paths; node's own `relative` is too slow for thousands of them. */
function fromFolder(folder: string): (path: string) => string {
	if (folder === "") return (path) => path;
	const names = folder.split("/");
	const ways = [...names, ""].map((_, up) => ({
		shared: names
			.slice(0, names.length - up)
			.map((name) => `${name}/`)
			.join(""),
		back: "../".repeat(up),
	}));
	return (path) => {
		const way = ways.find(({ shared }) => path.startsWith(shared));
		return way ? way.back + path.slice(way.shared.length) : path;
	};
}

function slashed(path: string): string {
	return sep === "\\" ? path.replaceAll("\\", "/") : path;
}

/** How the reader of an answer does what it advises: the model has tools, a person has commands. */
export interface Advice {
	readonly search: string;
	readonly index: string;
	/** How tests are counted too, behind a colon or comma. */
	readonly countTests: string;
	/** How to search everywhere, behind "Try". */
	readonly withoutFilters: string;
}

/** The reader of an answer: how paths are written, and what is advised. Without advice it is the model. */
export interface Reader extends Pick<ProjectPaths, "show"> {
	readonly advice?: Advice;
}

export const toolAdvice: Advice = {
	search: "kota_search",
	index: "kota_index",
	countTests: "include_tests counts them",
	withoutFilters: "without filters",
};

export const commandAdvice: Advice = {
	search: "strata search",
	index: "strata index",
	countTests: "leave out --no-tests to count them",
	withoutFilters: "without --glob",
};
