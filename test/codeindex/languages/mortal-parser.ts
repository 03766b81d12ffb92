/** A parser process that dies of files with a certain name, as native code may. */
import { basename } from "node:path";
import type { FileOutcome } from "../../../src/codeindex/parsing/file-outcome.ts";
import { loadLanguages, parseFile } from "../../../src/codeindex/parsing/parse-file.ts";
import type { ParserJob } from "../../../src/codeindex/parsing/parser.ts";
import { serveJobs } from "../../../src/core/worker-entry.ts";

const root = process.argv[2] ?? "";

serveJobs<ParserJob, FileOutcome[]>(async ({ paths, extent }) => {
	await loadLanguages(paths);
	return paths.map((path) => {
		if (basename(path).startsWith("deadly")) process.kill(process.pid, "SIGKILL");
		return parseFile(root, path, extent);
	});
});
