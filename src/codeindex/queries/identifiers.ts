/** A question that is one name as code writes it: `parse`, `#own`, `Reader.parse`. Undefined for anything else. */
export function identifierIn(query: string): string | undefined {
	const text = query.trim();
	return IDENTIFIER.test(text) ? text : undefined;
}

/** Whether a text has a name in it, in the same case and not as a part of a longer one. */
export function hasIdentifier(text: string, name: string): boolean {
	for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
		if (!isPart(text[at - 1]) && !isPart(text[at + name.length])) return true;
	}
	return false;
}

const PART = "[A-Za-z0-9_$\\u0080-\\uFFFF]";
const IDENTIFIER = new RegExp(`^#?(?!\\d)${PART}+(?:[.#]${PART}+)*$`);
const ONE_PART = new RegExp(PART);

function isPart(char: string | undefined): boolean {
	return char !== undefined && ONE_PART.test(char);
}
