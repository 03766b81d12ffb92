import { HtmlTokenizer } from "../extract/html-tokenizer.ts";

/** Handlers for the parts of a document in XML, by local name: `p` for `<w:p>`. */
interface XmlVisitor {
	open?(name: string, attribute: (name: string) => string, selfClosing: boolean): void;
	close?(name: string): void;
	text?(text: string): void;
}

/**
 * Visits the elements of a document in order. Entities that a document defines are not expanded, so they cannot grow; a
 * self-closing element is opened and closed.
 */
export function visitXml(xml: string, visitor: XmlVisitor): void {
	const tokens = new HtmlTokenizer(xml, { xml: true });
	const attribute = (name: string) => tokens.attribute(name) ?? "";
	for (let kind = tokens.next(); kind !== "end"; kind = tokens.next()) {
		if (kind === "text") {
			visitor.text?.(tokens.text);
			continue;
		}
		const name = localName(tokens.name);
		if (kind === "close") visitor.close?.(name);
		else {
			const { selfClosing } = tokens;
			visitor.open?.(name, attribute, selfClosing);
			if (selfClosing) visitor.close?.(name);
		}
	}
}

function localName(name: string): string {
	const colon = name.indexOf(":");
	return colon === -1 ? name : name.slice(colon + 1);
}

export function escapeHtml(text: string): string {
	return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/** Markup of ours without its tags, to measure it. */
export function plainText(html: string): string {
	return html.replace(/<[^>]*>/g, "");
}

/** Relations of a part of an Office document: the targets by their id. */
export function relations(xml: string): Map<string, string> {
	const targets = new Map<string, string>();
	visitXml(xml, {
		open(name, attribute) {
			if (name === "relationship") targets.set(attribute("id"), attribute("target"));
		},
	});
	return targets;
}

/** Where the relations of a part are. */
export function relationsPath(part: string): string {
	const slash = part.lastIndexOf("/") + 1;
	return `${part.slice(0, slash)}_rels/${part.slice(slash)}.rels`;
}

/** The path of `target`, seen from the folder of `base`. */
export function resolvePath(base: string, target: string): string {
	if (target.startsWith("/")) return target.slice(1);
	const path = base.split("/").slice(0, -1);
	for (const part of target.split("/")) {
		if (part === "..") path.pop();
		else if (part !== "." && part !== "") path.push(part);
	}
	return path.join("/");
}
