import { fileWords } from "../../../src/codeindex/extract/words.ts";
import type { FileFacts } from "../../../src/codeindex/facts.ts";
import type { IndexReader } from "../../../src/codeindex/index-reader.ts";
import type { Extract, Language, RequestResolver } from "../../../src/codeindex/language.ts";
import { isTestPath, languageOf, pathKind } from "../../../src/codeindex/languages.ts";
import { memoryReader } from "../memory-reader.ts";

const extractors = new Map<Language, Promise<Extract>>();

/** The facts of one source, by the language of its path. */
export async function factsOf(path: string, source: string): Promise<FileFacts> {
	const language = languageOf(path);
	if (!language) throw new Error(`no language has files like ${path}`);
	let extract = extractors.get(language);
	if (!extract) {
		extract = language.loadExtract();
		extractors.set(language, extract);
	}
	return (await extract)(path, source);
}

/** The index of a project in any languages that only exists in memory. */
export async function indexProject(files: Readonly<Record<string, string>>): Promise<IndexReader> {
	const paths = Object.keys(files).sort();
	const sources = paths.filter((path) => pathKind(path) === "source");
	const project = {
		root: "/project",
		files: new Set(sources),
		configs: new Set(paths.filter((path) => pathKind(path) === "config")),
		readConfig: (path: string) => files[path],
	};
	const resolvers = new Map<Language, RequestResolver>();
	const parsed = [];
	for (const path of sources) {
		const text = files[path] ?? "";
		const facts = await factsOf(path, text);
		const language = languageOf(path) as Language;
		let resolver = resolvers.get(language);
		if (!resolver) {
			resolver = (await language.loadResolver())(project);
			resolvers.set(language, resolver);
		}
		const targets = facts.requests.map(({ specifier, kinds }) =>
			(resolver as RequestResolver).resolve(path, specifier, kinds),
		);
		const words = Object.values(fileWords(path, text, facts))
			.join(" ")
			.split(" ");
		parsed.push({ path, facts, targets, words, isTest: isTestPath(path) });
	}
	return memoryReader(parsed);
}
