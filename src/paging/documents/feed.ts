import { linearHtmlToMarkdown } from "../extract/linear-html.ts";
import { escapeHtml, visitXml } from "./xml.ts";

export function isFeed(start: string): boolean {
	return /<(?:rss[\s>]|feed[\s>][^>]*atom|feed\s[^>]*xmlns|rdf:RDF[\s>])/i.test(
		start.slice(0, 2000),
	);
}

/** Writes the entries of an RSS or Atom feed: title with its link, date, text. */
export function feedToMarkdown(xml: string): { markdown: string; title?: string } {
	const out: string[] = [];
	let entry: Entry | undefined;
	let [title, field] = ["", ""];
	visitXml(xml, {
		open(name, attribute) {
			if (name === "item" || name === "entry")
				entry = { title: "", link: "", date: "", text: "", long: "" };
			else if (
				name === "link" &&
				entry &&
				attribute("href") !== "" &&
				/^(?:alternate)?$/.test(attribute("rel"))
			)
				entry.link ||= attribute("href");
			else field = FIELDS[name] ?? "";
			if (name === "link") field = "link";
		},
		text(text) {
			if (entry && field !== "") entry[field as keyof Entry] += text;
			else if (field === "title") title += text;
		},
		close(name) {
			field = "";
			if ((name !== "item" && name !== "entry") || !entry) return;
			const { link, date, text, long } = entry;
			const heading = escapeHtml(entry.title.trim() || "Untitled");
			out.push(
				`<h2>${link.trim() ? `<a href="${escapeHtml(link.trim())}">${heading}</a>` : heading}</h2>`,
			);
			if (date.trim() !== "") out.push(`<p>${escapeHtml(date.trim())}</p>`);
			out.push(`<div>${long.length > text.length ? long : text}</div>`);
			entry = undefined;
		},
	});
	const { markdown } = linearHtmlToMarkdown(out.join("\n"));
	const name = title.trim().slice(0, 200);
	return { markdown, ...(name && { title: name }) };
}

interface Entry {
	title: string;
	link: string;
	date: string;
	text: string;
	long: string;
}

const FIELDS: Readonly<Record<string, keyof Entry>> = {
	title: "title",
	pubdate: "date",
	published: "date",
	date: "date",
	description: "text",
	summary: "text",
	content: "long",
	encoded: "long",
};
