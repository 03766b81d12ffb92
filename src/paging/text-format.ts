import type { TextFormat } from "./documents/convert.ts";
import { parseMediaType } from "./fetch/content.ts";

/** The format of a text that is rewritten to be read; `undefined` if it is shown as it is. Looks at its beginning only. */
export function textFormat(
	text: string,
	contentType: string | undefined,
	name: string,
): TextFormat | undefined {
	const { type } = parseMediaType(contentType);
	const path = name.replace(/[?#].*$/, "");
	const start = text.slice(0, SAMPLE);
	const isJson = /^\s*[[{]/.test(start);
	if (isJson && (/\.ipynb$/i.test(path) || type === "application/x-ipynb+json")) return "notebook";
	if (type === "text/csv" || type === "text/tab-separated-values" || /\.(?:csv|tsv)$/i.test(path))
		return "csv";
	const isXml = /^\s*<(?:\?xml|[a-z])/i.test(start);
	if (isXml && FEED.test(start)) return "feed";
	if (text.length < SAMPLE || start.trimEnd().includes("\n")) return undefined;
	if (isJson && (/json/.test(type) || /\.(?:json|jsonld|geojson|webmanifest)$/i.test(path)))
		return "json";
	return isXml && (/xml/.test(type) || /\.(?:xml|svg|xsd|xsl)$/i.test(path)) ? "xml" : undefined;
}

/** A feed by its root: other documents may have elements of these names. */
const FEED =
	/^\s*(?:<\?[^>]*>\s*|<!doctype[^>]*>\s*|<!--(?:(?!-->)[\s\S])*-->\s*)*<(?:rss|feed|rdf:RDF)[\s>]/i;

/** A text that is shorter, or has a line end in its first so many characters, is readable as it is. */
const SAMPLE = 1000;
