/** What an element says about the programming language of the code in it. */
export interface LanguageHints {
	className?: string | undefined;
	/** `data-lang`, `data-language` or `lang` of a `pre`. */
	attribute?: string | undefined;
}

/** The language of a code block, as highlighters of all kinds write it down; empty if they say nothing. */
export function codeLanguage({ className = "", attribute = "" }: LanguageHints): string {
	const named = attribute || (IN_CLASS.exec(className)?.[1] ?? "");
	const language = named.toLowerCase();
	return IS_LANGUAGE.test(language) && !NO_LANGUAGE.has(language) ? language : "";
}

// language-js (HTML 5), lang-js (prettify), highlight-source-js (GitHub), highlight-js (Sphinx), brush: js
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
