import { escapeHtml, relations, resolvePath, visitXml } from "./xml.ts";
import type { ZipArchive } from "./zip.ts";

/** Writes each slide as a heading, its paragraphs and tables, and the speaker's notes. */
export async function pptxToHtml(zip: ZipArchive): Promise<string> {
	const base = "ppt/presentation.xml";
	const targets = relations(await zip.text("ppt/_rels/presentation.xml.rels"));
	const slides: string[] = [];
	visitXml(await zip.text(base), {
		open(name, attribute) {
			const target = name === "sldid" ? targets.get(attribute("r:id")) : undefined;
			if (target) slides.push(resolvePath(base, target));
		},
	});
	const out: string[] = [];
	for (const [i, path] of slides.entries()) {
		out.push(`<h2>Slide ${i + 1}</h2>`, slideHtml(await zip.text(path)));
		const file = path.split("/").at(-1) ?? "";
		for (const target of relations(await zip.text(`ppt/slides/_rels/${file}.rels`)).values()) {
			if (!/notesSlide\d+\.xml$/.test(target)) continue;
			const notes = slideHtml(await zip.text(resolvePath(path, target)), true);
			if (notes !== "") out.push("<p><b>Notes:</b></p>", notes);
		}
	}
	return out.join("");
}

function slideHtml(xml: string, isNotes = false): string {
	const out: string[] = [];
	let paragraph: string[] = [];
	let [inText, isTitle, isSkipped, cells, fallback] = [false, false, false, 0, 0];
	visitXml(xml, {
		open(name, attribute) {
			if (name === "sp" || name === "graphicframe") [isTitle, isSkipped] = [false, false];
			else if (name === "fallback") fallback++;
			else if (name === "ph") {
				const type = attribute("type");
				isTitle = type === "title" || type === "ctrTitle";
				isSkipped = /^(?:sldNum|dt|ftr|sldImg)$/.test(type) || (isNotes && type !== "body");
			} else if (name === "t") inText = true;
			else if (name === "br") paragraph.push("<br>");
			else if (name === "tbl") out.push("<table>");
			else if (name === "tr") out.push("<tr>");
			else if (name === "tc") {
				cells++;
				out.push("<td>");
			}
		},
		text(text) {
			// A fallback repeats its neighbour for older programs.
			if (inText && fallback === 0) paragraph.push(escapeHtml(text));
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
