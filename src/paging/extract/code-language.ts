import { names } from "./elements.ts";

/** The language as highlighters declare it; empty if they do not. */
export function codeLanguage(attribute: (name: string) => string | null | undefined): string {
	const declared = attribute("data-lang") ?? attribute("data-language");
	const named = declared || (IN_CLASS.exec(attribute("class") ?? "")?.[1] ?? "");
	const language = named.toLowerCase();
	return IS_LANGUAGE.test(language) && !NO_LANGUAGE.has(language) ? language : "";
}

// language- (HTML 5), lang- (prettify), highlight-source- (GitHub), highlight- (Sphinx), brush:
const IN_CLASS =
	/(?:^|\s)(?:language-|lang-|highlight-source-|highlight-(?:text-)?|sourceCode |src-|brush:\s*)([\w+#.-]+)/i;
const IS_LANGUAGE = /^[a-z][\w+#.-]{0,20}$/;
const NO_LANGUAGE = names("none default plaintext text plain source notranslate");
