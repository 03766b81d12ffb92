import { decodeEntities } from "../extract/entities.ts";
import { linearHtmlToMarkdown } from "../extract/linear-html.ts";
import { escapeHtml, visitXml } from "./xml.ts";

/** Writes the entries of an RSS or Atom feed: title with its link, date, text. `undefined` if it is no feed. */
export function feedToMarkdown(xml: string): { markdown: string; title?: string } | undefined {
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
			} else if (name === "item" || name === "entry")
				entry = { title: "", link: "", date: "", text: "", long: "" };
			else if (name === "link" && entry && attribute("href") !== "") {
				if (/^(?:alternate)?$/.test(attribute("rel"))) entry.link ||= attribute("href");
			} else {
				const to = FIELDS.get(name);
				// Extensions repeat what the feed says (`media:title`), and `media:content` is a file.
				const isFirst = to && (entry ? entry[to] === "" : to === "title" && title === "");
				if (isFirst && attribute("url") === "") field = { to, name, same: 0, inner: 0 };
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
		if (entry) entries.push(linearHtmlToMarkdown(entryHtml(entry)).markdown);
		entry = undefined;
	}
}

function openTag(name: string, attribute: (name: string) => string): string {
	const kept = ["href", "src", "alt", "class"].filter((key) => attribute(key) !== "");
	return `<${name}${kept.map((key) => ` ${key}="${escapeHtml(attribute(key))}"`).join("")}>`;
}

function entryHtml({ title, link, date, text, long }: Entry): string {
	const heading = escapeHtml(decodeEntities(title).trim() || "Untitled");
	const address = decodeEntities(link).trim();
	return [
		`<h2>${address ? `<a href="${escapeHtml(address)}">${heading}</a>` : heading}</h2>`,
		...(date.trim() === "" ? [] : [`<p>${escapeHtml(date.trim())}</p>`]),
		`<div>${long.length > text.length ? long : text}</div>`,
	].join("\n");
}

interface Entry {
	title: string;
	link: string;
	date: string;
	text: string;
	long: string;
}

const FIELDS: ReadonlyMap<string, keyof Entry> = new Map([
	["title", "title"],
	["link", "link"],
	["pubdate", "date"],
	["published", "date"],
	["date", "date"],
	["description", "text"],
	["summary", "text"],
	["content", "long"],
	["encoded", "long"],
]);
