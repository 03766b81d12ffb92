import { decodeEntities } from "../extract/entities.ts";
import { linearHtmlToMarkdown } from "../extract/linear-html.ts";
import { escapeHtml, visitXml } from "./xml.ts";

/** Writes the entries of an RSS or Atom feed: title with its link, date, text. `undefined` if it is no feed. */
export function feedToMarkdown(
	xml: string,
	feedUrl?: string,
): { markdown: string; title?: string } | undefined {
	let baseUrl = feedUrl;
	const entries: string[] = [];
	let entry: Entry | undefined;
	let title = "";
	/** The element that is collected, and how many of its name and of any name are open in it. */
	let field: { to: keyof Entry; name: string; same: number; inner: number } | undefined;
	visitXml(xml, {
		open(name, attribute) {
			if (field) {
				// XHTML is written as elements, not as escaped text.
				field.inner++;
				if (name === field.name) field.same++;
				if (entry) entry[field.to] += openTag(name, attribute);
			} else if (name === "feed" && attribute("xml:base") !== "")
				baseUrl = URL.parse(attribute("xml:base"), feedUrl)?.href ?? feedUrl;
			else if (name === "item" || name === "entry")
				entry = {
					title: "",
					link: "",
					file: "",
					id: "",
					date: "",
					changed: "",
					text: "",
					long: "",
				};
			else if (name === "link" && entry && attribute("href") !== "") {
				if (/^(?:alternate)?$/.test(attribute("rel"))) entry.link ||= attribute("href");
				else if (attribute("rel") === "enclosure") entry.file ||= attribute("href");
			} else if (name === "enclosure" && entry) entry.file ||= attribute("url");
			else {
				const to = FIELDS.get(name);
				// Extensions repeat what the feed says (`media:title`), and `media:content` is a file.
				const isFirst = to && (entry ? entry[to] === "" : to === "title" && title === "");
				if (isFirst && attribute("url") === "" && attribute("ispermalink") !== "false")
					field = { to, name, same: 0, inner: 0 };
			}
		},
		text(text) {
			if (entry && field) entry[field.to] += field.inner > 0 ? escapeHtml(text) : text;
			else if (field) title += text;
		},
		close(name) {
			const isEntry = name === "item" || name === "entry";
			if (field && !isEntry) {
				if (name === field.name && field.same-- === 0) field = undefined;
				else if (entry) entry[field.to] += `</${name}>`;
				return;
			}
			field = undefined;
			if (isEntry) endEntry();
		},
	});
	endEntry(); // of a feed that is cut
	if (entries.length === 0 && !/<channel[\s>]|<feed\s[^>]*atom/i.test(xml)) return undefined;
	const name = decodeEntities(title).trim().slice(0, 200);
	return { markdown: entries.join("\n\n"), ...(name && { title: name }) };

	/** Entries are converted one by one, so that markup that an entry leaves open ends with it. */
	function endEntry(): void {
		if (entry)
			entries.push(
				linearHtmlToMarkdown(entryHtml(entry), { ...(baseUrl && { baseUrl }) }).markdown,
			);
		entry = undefined;
	}
}

function openTag(name: string, attribute: (name: string) => string): string {
	const kept = ["href", "src", "alt", "class"].filter((key) => attribute(key) !== "");
	return `<${name}${kept.map((key) => ` ${key}="${escapeHtml(attribute(key))}"`).join("")}>`;
}

function entryHtml({ title, link, file, id, date, changed, text, long }: Entry): string {
	const heading = titleHtml(title) || "Untitled";
	const permanent = /^https?:/i.test(id.trim()) ? id : "";
	const address = decodeEntities(link.trim() || permanent).trim();
	const when = date.trim() || changed.trim();
	return [
		`<h2>${address ? `<a href="${escapeHtml(address)}">${heading}</a>` : heading}</h2>`,
		...(when === "" ? [] : [`<p>${escapeHtml(when)}</p>`]),
		`<div>${long.length > text.length ? long : text}</div>`,
		...(file === "" ? [] : [`<p><a href="${escapeHtml(file)}">${escapeHtml(file)}</a></p>`]),
	].join("\n");
}

/** Titles may have the marks of HTML, which a heading does not need. */
function titleHtml(title: string): string {
	const marks = /<\/?(?:a|b|code|div|em|i|p|span|strong|sub|sup|tt|u)\b[^<>]*>/gi;
	return escapeHtml(decodeEntities(title).replace(marks, "").trim());
}

interface Entry {
	title: string;
	link: string;
	/** A file that goes with it: a sound, a film. */
	file: string;
	/** Used for a missing link. */
	id: string;
	date: string;
	/** Used for a missing date. */
	changed: string;
	text: string;
	long: string;
}

const FIELDS: ReadonlyMap<string, keyof Entry> = new Map([
	["title", "title"],
	["link", "link"],
	["pubdate", "date"],
	["published", "date"],
	["date", "date"],
	["updated", "changed"],
	["guid", "id"],
	["description", "text"],
	["summary", "text"],
	["content", "long"],
	["encoded", "long"],
]);
