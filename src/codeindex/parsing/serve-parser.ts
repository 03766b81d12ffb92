/** What a parser process does. */
import { constants, setPriority } from "node:os";
import { serveJobs } from "../../core/worker-entry.ts";
import type { FileOutcome } from "./file-outcome.ts";
import { loadLanguages, parseFile } from "./parse-file.ts";
import type { ParserJob } from "./parser.ts";

const root = process.argv[2] ?? process.cwd();

let isInBackground = false;

/** Lowers the priority, in favor of other processes. It cannot be raised again. */
function goToBackground(): void {
	if (isInBackground) return;
	isInBackground = true;
	try {
		setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
	} catch {
		// A sandbox may forbid this.
	}
}

serveJobs<ParserJob, FileOutcome[]>(async ({ paths, extent }) => {
	// A question waits for skeletons.
	if (extent === "whole") goToBackground();
	await loadLanguages(paths);
	return paths.map((path) => parseFile(root, path, extent));
});
