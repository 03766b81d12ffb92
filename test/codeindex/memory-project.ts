import { extractFacts } from "../../src/codeindex/extract/extract.ts";
import { fileWords } from "../../src/codeindex/extract/words.ts";
import type { IndexReader } from "../../src/codeindex/index-reader.ts";
import { ModuleResolver } from "../../src/codeindex/resolve/resolver.ts";
import { isTestPath, pathKind } from "../../src/core/project-path.ts";
import { memoryReader } from "./memory-reader.ts";

/** The files of a project: texts by path relative to its root. */
export type ProjectFiles = Readonly<Record<string, string>>;

/** The index of a project that only exists in memory, made with the real parser and resolver. */
export function indexProject(files: ProjectFiles): IndexReader {
	const paths = Object.keys(files).sort();
	const sources = paths.filter((path) => pathKind(path) === "source");
	const resolver = new ModuleResolver({
		root: "/project",
		files: new Set(sources),
		configs: new Set(paths.filter((path) => pathKind(path) === "config")),
		readConfig: (path) => files[path],
	});
	return memoryReader(
		sources.map((path) => {
			const text = files[path] ?? "";
			const facts = extractFacts(path, text);
			const targets = facts.requests.map(({ specifier, kinds }) =>
				resolver.resolve(path, specifier, kinds),
			);
			return {
				path,
				facts,
				targets,
				words: Object.values(fileWords(path, text, facts))
					.join(" ")
					.split(" "),
				isTest: isTestPath(path),
				bytes: Buffer.byteLength(text),
			};
		}),
	);
}
