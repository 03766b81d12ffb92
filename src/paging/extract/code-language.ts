export interface LanguageHints {
	className?: string | undefined;
	/** `data-lang`, `data-language` or `lang` of a `pre`. */
	attribute?: string | undefined;
}

/** The language as highlighters declare it; empty if they do not. */
export function codeLanguage({ className = "", attribute = "" }: LanguageHints): string {
	const named = attribute || (IN_CLASS.exec(className)?.[1] ?? "");
	const language = named.toLowerCase();
	return IS_LANGUAGE.test(language) && !NO_LANGUAGE.has(language) ? language : "";
}

// language- (HTML 5), lang- (prettify), highlight-source- (GitHub), highlight- (Sphinx), brush:
const IN_CLASS =
	/(?:^|\s)(?:language-|lang-|highlight-source-|highlight-(?:text-)?|sourceCode |src-|brush:\s*)([\w+#.-]+)/i;
const IS_LANGUAGE = /^[a-z][\w+#.-]{0,20}$/;
const NO_LANGUAGE = new Set([
	"none",
	"default",
	"plaintext",
	"text",
	"plain",
	"source",
	"notranslate",
]);
