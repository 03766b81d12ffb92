import type { Scope } from "./scope.ts";
import { escapeHtml, plainText, relations, relationsPath, resolvePath, visitXml } from "./xml.ts";
import type { ZipArchive } from "./zip.ts";

/** Writes each slide as a heading, its paragraphs, links and tables, the speaker's notes and comments. */
export async function pptxToHtml(zip: ZipArchive, base: string, scope: Scope): Promise<string> {
	const targets = relations(await zip.text(relationsPath(base)));
	const slides: string[] = [];
	visitXml(await zip.text(base), {
		open(name, attribute) {
			const target = name === "sldid" ? targets.get(attribute("r:id")) : undefined;
			if (target) slides.push(resolvePath(base, target));
		},
	});
	const out: string[] = [];
	for (const [i, path] of slides.entries()) {
		const xml = await zip.text(path);
		const links = relations(await zip.text(relationsPath(path)));
		const parts = [slideHtml(xml, links)];
		for (const target of links.values()) {
			const isNotes = /notesSlide\d+\.xml$/.test(target);
			if (!isNotes && !/comments\/[^/]+\.xml$/i.test(target)) continue;
			const part = await zip.text(resolvePath(path, target));
			const text = isNotes ? slideHtml(part, new Map(), true) : commentsHtml(part);
			if (text !== "") parts.push(`<p><b>${isNotes ? "Notes" : "Comments"}:</b></p>`, text);
		}
		const isHidden = /<(?:\w+:)?sld\s[^>]*\bshow=["'](?:0|false)/.test(xml);
		if (isHidden && !scope.shows("hidden slides", plainText(parts.join("")))) continue;
		out.push(`<h2>Slide ${i + 1}${isHidden ? " (hidden)" : ""}</h2>`, ...parts);
	}
	return out.join("");
}

/** Comments of old and of new versions: text in an element of its own, or in paragraphs. */
function commentsHtml(xml: string): string {
	const texts: string[] = [];
	let [text, inText] = ["", false];
	visitXml(xml, {
		open(name) {
			if (name === "text" || name === "t") inText = true;
		},
		text(part) {
			if (inText) text += escapeHtml(part);
		},
		close(name) {
			if (name === "text" || name === "t") inText = false;
			if (name !== "cm" || text === "") return;
			texts.push(`<p>${text}</p>`);
			text = "";
		},
	});
	return texts.join("");
}

function slideHtml(xml: string, links: ReadonlyMap<string, string>, isNotes = false): string {
	const out: string[] = [];
	let paragraph: string[] = [];
	let [inText, isTitle, isSkipped, cells, fallback, link] = [false, false, false, 0, 0, ""];
	visitXml(xml, {
		open(name, attribute) {
			if (name === "sp" || name === "graphicframe") [isTitle, isSkipped] = [false, false];
			else if (name === "fallback") fallback++;
			else if (name === "ph") {
				const type = attribute("type");
				isTitle = type === "title" || type === "ctrTitle";
				isSkipped = /^(?:sldNum|dt|ftr|sldImg)$/.test(type) || (isNotes && type !== "body");
			} else if (name === "t") inText = true;
			else if (name === "r") link = "";
			else if (name === "hlinkclick") {
				const target = links.get(attribute("r:id")) ?? "";
				link = /^(?:https?|mailto|ftp):/i.test(target) ? target : "";
			} else if (name === "br") paragraph.push("<br>");
			else if (name === "tbl") out.push("<table>");
			else if (name === "tr") out.push("<tr>");
			else if (name === "tc") {
				cells++;
				out.push("<td>");
			}
		},
		text(text) {
			// A fallback repeats its neighbour for older programs.
			if (!inText || fallback > 0) return;
			const written = escapeHtml(text);
			paragraph.push(link === "" ? written : `<a href="${escapeHtml(link)}">${written}</a>`);
		},
		close(name) {
			if (name === "t") inText = false;
			else if (name === "fallback") fallback = Math.max(0, fallback - 1);
			else if (name === "p") {
				const text = paragraph.join("");
				paragraph = [];
				if (text === "" || isSkipped) return;
				const tag = isTitle && cells === 0 ? "h3" : "p";
				out.push(`<${tag}>${text}</${tag}>`);
			} else if (name === "tbl") out.push("</table>");
			else if (name === "tr") out.push("</tr>");
			else if (name === "tc") {
				cells--;
				out.push("</td>");
			}
		},
	});
	return out.join("");
}
