declare const htmlBrand: unique symbol;

/** Escaped text. Anything else is escaped before it enters a page. */
export type Html = { readonly [htmlBrand]: true; readonly text: string };

/** Escapes every value that is not HTML or a list of it. */
export function html(
	strings: TemplateStringsArray,
	...values: (string | number | Html | readonly Html[])[]
): Html {
	const text = strings.reduce((all, part, at) => all + rendered(values[at - 1] ?? "") + part);
	return { text } as Html;
}

function rendered(value: string | number | Html | readonly Html[]): string {
	if (typeof value === "string") return escapeHtml(value);
	if (typeof value === "number") return String(value);
	if ("text" in value) return value.text;
	return value.map(({ text }) => text).join("");
}

const ENTITIES: Readonly<Record<string, string>> = {
	"&": "&amp;",
	"<": "&lt;",
	">": "&gt;",
	'"': "&quot;",
	"'": "&#39;",
};

function escapeHtml(text: string): string {
	return text.replace(/[&<>"']/g, (character) => ENTITIES[character] as string);
}
