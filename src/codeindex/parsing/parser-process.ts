/**
 * Entry of a process that parses: answers for all files of a batch at once. A process and not a thread, since the native
 * parser ends its process on text that is nested deeply enough.
 */
import { constants, setPriority } from "node:os";
import { serveJobs } from "../../core/worker-entry.ts";
import type { FileOutcome } from "./file-outcome.ts";
import { parseFile } from "./parse-file.ts";

const root = process.argv[2] ?? process.cwd();

// With all cores busy, others come first.
try {
	setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
} catch {
	// A sandbox may forbid it; files are parsed all the same.
}

serveJobs<readonly string[], FileOutcome[]>((paths) => paths.map((path) => parseFile(root, path)));
