/** What a parser process does. */
import { constants, setPriority } from "node:os";
import { serveJobs } from "../../core/worker-entry.ts";
import type { FileOutcome } from "./file-outcome.ts";
import { loadLanguages, parseFile } from "./parse-file.ts";

const root = process.argv[2] ?? process.cwd();

// Lowers the priority, in favor of other processes.
try {
	setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
} catch {
	// A sandbox may forbid this.
}

serveJobs<readonly string[], FileOutcome[]>(async (paths) => {
	await loadLanguages(paths);
	return paths.map((path) => parseFile(root, path));
});
