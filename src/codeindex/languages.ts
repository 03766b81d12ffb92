import {
	isTestPath as isTestByPath,
	pathKind as kindByPath,
	type PathKind,
} from "../core/project-path.ts";
import type { Coverage } from "./answers.ts";
import { c } from "./extract/c/language.ts";
import { cpp } from "./extract/cpp/language.ts";
import { csharp } from "./extract/csharp/language.ts";
import { go } from "./extract/go/language.ts";
import { java } from "./extract/java/language.ts";
import { php } from "./extract/php/language.ts";
import { python } from "./extract/python/language.ts";
import { ruby } from "./extract/ruby/language.ts";
import { rust } from "./extract/rust/language.ts";
import { typescript } from "./extract/typescript.ts";
import type { Language } from "./language.ts";

/** The registry. A language is a folder in `extract/`, one in `resolve/`, and a row here. */
export const LANGUAGES: readonly Language[] = [
	typescript,
	python,
	go,
	rust,
	java,
	csharp,
	php,
	ruby,
	c,
	cpp,
];

const byEnding = new Map(
	LANGUAGES.flatMap((language) => language.endings.map((ending) => [ending, language] as const)),
);
const configNames = new Set(LANGUAGES.flatMap(({ configs = [] }) => configs));

export function languageOf(path: string): Language | undefined {
	const dot = path.lastIndexOf(".");
	if (dot < 0) return undefined;
	const ending = path.slice(dot);
	return byEnding.get(ending) ?? byEnding.get(ending.toLowerCase());
}

/** Languages by number of files. Nothing if the files are all TypeScript and JavaScript. */
export function languagesIn(
	files: Iterable<{ readonly path: string }>,
): Pick<Coverage, "languages"> {
	const counts = new Map<Language, number>();
	for (const { path } of files) {
		const language = languageOf(path);
		if (language) counts.set(language, (counts.get(language) ?? 0) + 1);
	}
	if (counts.size === 0 || (counts.size === 1 && counts.has(typescript))) return {};
	const languages = [...counts]
		.sort(([, one], [, other]) => other - one)
		.map(([{ name, usages }, count]) => ({ name, files: count, usages }));
	return { languages };
}

/** `config` is a file that affects how imports are resolved. */
export function pathKind(path: string): PathKind {
	const kind = kindByPath(path);
	if (kind !== "other") return kind;
	const name = path.slice(path.lastIndexOf("/") + 1);
	// Such files hold secrets: `.env.php`.
	if (languageOf(path)) return name.startsWith(".env") ? "other" : "source";
	return configNames.has(name) ? "config" : "other";
}

/** Test helpers count as tests. */
export function isTestPath(path: string): boolean {
	if (isTestByPath(path)) return true;
	return languageOf(path)?.testName?.test(path.slice(path.lastIndexOf("/") + 1)) ?? false;
}
