/** Parser entry. A process, not a thread, since deeply nested text crashes the native parser. */
import module from "node:module";
import { constants, setPriority } from "node:os";
import { setFlagsFromString } from "node:v8";
import { serveJobs } from "../../core/worker-entry.ts";
import type { FileOutcome } from "./file-outcome.ts";
import { loadLanguages, parseFile } from "./parse-file.ts";
import type { ParserJob } from "./parser.ts";

// V8's last optimization takes longer than it saves within some thousand files. V8 ignores a flag that it does not know.
setFlagsFromString("--invocation-count-for-turbofan=100000");

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
	// Node keeps compiled code when a process exits, but this one is killed. There is time once the answer is sent.
	if (await loadLanguages(paths)) setImmediate(() => module.flushCompileCache?.());
	return paths.map((path) => parseFile(root, path, extent));
});
