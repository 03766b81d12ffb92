/**
 * The stem of an English word in lower case: `retry`, `retried` and `retryable` have the same. Words of
 * questions and of symbols are compared by it. A wrong stem costs only rank, so the rules are few.
 */
export function stemOf(word: string): string {
	if (!/^[a-z]{4,}$/.test(word)) return word;
	const singular = word.replace(/(?<=ss|x|ch|sh)es$|(?<=[^sui])s$|(?<=i)es$/, "");
	const root = singular.replace(SUFFIX, "");
	// `wrapping` has the stem of `wrap`, but `pass` and `fill` keep both letters.
	const single = root === singular ? root : root.replace(/([^aeiouylrsz])\1$/, "$1");
	return single.replace(/(?<=.{3})e$/, "").replace(/(?<=[^aeiou])y$/, "i");
}

/** Behind at least three letters, the longest first. */
const SUFFIX =
	/(?<=^[a-z]{3,}?)(?:abilities|ability|ations?|ators?|ating|ated?|ables?|ibles?|ings?|ions?|ments?|ers?|ors?|ed|d(?<=ied))$/;
