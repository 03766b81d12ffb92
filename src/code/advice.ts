import type { ProjectPaths } from "./project-paths.ts";

/** How the reader of an answer does what it advises: the model has tools, a person has commands. */
export interface Advice {
	/** What finds by words. */
	readonly search: string;
	/** What indexes. */
	readonly index: string;
	/** How tests are counted too, behind a colon or comma. */
	readonly countTests: string;
	/** How to search everywhere, behind "Try". */
	readonly withoutFilters: string;
}

/** Who reads an answer: how paths are written for them, and how they ask. Without advice it is the model. */
export interface Reader extends Pick<ProjectPaths, "show"> {
	readonly advice?: Advice;
}

/** For the model. */
export const toolAdvice: Advice = {
	search: "kota_search",
	index: "kota_index",
	countTests: "include_tests counts them",
	withoutFilters: "without filters",
};

/** For a person at the command line. */
export const commandAdvice: Advice = {
	search: "strata search",
	index: "strata index",
	countTests: "leave out --no-tests to count them",
	withoutFilters: "without --glob",
};
