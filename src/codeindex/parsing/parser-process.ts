/**
 * Entry of a process that parses: the files it is told to, answering for all of a batch at once. A process and not a
 * thread, since the native parser ends its process on text that is nested deeply enough.
 */
import { constants, setPriority } from "node:os";
import { type FileOutcome, parseFile } from "./parse-file.ts";

/** A message to the process: the files to parse. */
export type ParseRequest = readonly string[];
/** Once at the start that it can begin, then an answer for each message, in the same order. */
export type ParseReply = "ready" | readonly FileOutcome[];

const root = process.argv[2] ?? process.cwd();

// Whoever waits for the index must not be held up by it: with all cores busy, others come first.
try {
	setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
} catch {
	// A sandbox may forbid it; files are parsed all the same.
}

process.on("message", (paths: ParseRequest) => {
	process.send?.(paths.map((path) => parseFile(root, path)) satisfies ParseReply);
});
process.on("disconnect", () => process.exit());
process.send?.("ready" satisfies ParseReply);
