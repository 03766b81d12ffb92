import { linearHtmlToMarkdown } from "../extract/linear-html.ts";
import { xhtmlToHtml } from "../extract/xhtml.ts";
import { shownName } from "./listing.ts";
import { resolvePath, visitXml } from "./xml.ts";
import { BadArchive, type ZipArchive } from "./zip.ts";

/** Writes the chapters of a book in their order, and returns its title. */
export async function epubToMarkdown(
	zip: ZipArchive,
): Promise<{ markdown: string; title?: string }> {
	let path = "";
	visitXml(await zip.text("META-INF/container.xml"), {
		open(name, attribute) {
			if (name === "rootfile") path ||= attribute("full-path");
		},
	});
	const files = new Map<string, { href: string; type: string }>();
	const order: string[] = [];
	/** Notes and answers, which the text links to; they follow it. */
	const aside: string[] = [];
	let [title, inTitle] = ["", false];
	visitXml(await zip.text(path), {
		open(name, attribute) {
			if (name === "item")
				files.set(attribute("id"), { href: attribute("href"), type: attribute("media-type") });
			else if (name === "itemref")
				(attribute("linear") === "no" ? aside : order).push(attribute("idref"));
			else if (name === "title") inTitle = title === "";
		},
		text(text) {
			if (inTitle) title += text;
		},
		close(name) {
			if (name === "title") inTitle = false;
		},
	});
	const encrypted = await encryptedFiles(zip);
	const chapters: string[] = [];
	for (const id of new Set([...order, ...aside])) {
		const { href, type } = files.get(id) ?? {};
		// A book may have pictures for pages.
		if (href === undefined || /^(?:image|audio|video)\//.test(type ?? "")) continue;
		const file = resolvePath(path, decodePath(href));
		if (encrypted.has(file)) throw new BadArchive("its chapters are encrypted (copy protection)");
		const { markdown } = linearHtmlToMarkdown(xhtmlToHtml(await zip.text(file)));
		if (!zip.has(file)) chapters.push(`[A chapter is missing in the file: ${shownName(file)}]`);
		else if (markdown !== "") chapters.push(markdown);
	}
	const name = title.trim().slice(0, 200);
	return { markdown: chapters.join("\n\n"), ...(name && { title: name }) };
}

/** Files that are encrypted. Many books have only fonts of this kind. */
async function encryptedFiles(zip: ZipArchive): Promise<ReadonlySet<string>> {
	const files = new Set<string>();
	visitXml(await zip.text("META-INF/encryption.xml"), {
		open(name, attribute) {
			if (name === "cipherreference") files.add(decodePath(attribute("uri")));
		},
	});
	return files;
}

function decodePath(href: string): string {
	try {
		return decodeURIComponent(href.split("#", 1)[0] ?? "");
	} catch {
		return href; // not encoded, but with a percent sign
	}
}
