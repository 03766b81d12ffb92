/**
 * Blanks what the grammar does not know, so that all offsets stay: macros between `class` and its name, and the words of
 * modules.
 */
export function parsable(source: string): string {
	const plain = source.replace(CLASS_MACRO, blank);
	return MODULE.test(plain) ? plain.replace(MODULE_WORDS, blank) : plain;
}

/** `EXPORT` in `class EXPORT Name : public Base {`. */
const CLASS_MACRO =
	/(?<=\b(?:class|struct)[ \t]+)[A-Z][A-Z0-9_]{2,}(?:\(\w*\))?(?=[ \t]+[A-Za-z_]\w*(?:[ \t]+final)?\s*(?::[^:]|\{))/g;

const MODULE = /^[ \t]*(?:export[ \t]+)?(?:module|import)\b[^(=;{}\n]*;/m;
const MODULE_WORDS =
	/^[ \t]*(?:(?:export[ \t]+)?(?:module|import)\b[^(=;{}\n]*;|export\b(?=[ \t]+[A-Za-z_]))/gm;

function blank(text: string): string {
	return text.replace(/[^\n]/g, " ");
}
