/** How much of a page's structure is in its Markdown: code, tables, list items, headings and links that belong to the gold text. */
import { names } from "../../src/paging/extract/elements.ts";
import { HtmlTokenizer } from "../../src/paging/extract/html-tokenizer.ts";

export type Part = "code" | "exactCode" | "tables" | "items" | "headings" | "links";

/** Parts that the gold text has, and those that are also in the Markdown. */
export type Structure = Readonly<Record<Part, { readonly wanted: number; readonly kept: number }>>;

export function structureKept(
	html: string,
	url: string,
	{ gold, markdown }: { gold: string; markdown: string },
): Structure {
	const found = partsOf(html, url);
	const isWanted = holds(gold);
	const isKept = holds(withoutMarks(markdown));
	const fences = fencesOf(markdown);
	const targets = targetsOf(markdown);
	const count = <T>(list: readonly T[], kept: (one: T) => boolean) => ({
		wanted: list.length,
		kept: list.filter(kept).length,
	});
	const codes = found.codes.filter((code) => isWanted(code, 3));
	const tables = found.tables.filter((cells) => isWanted(cells.join(" "), 6));
	return {
		code: count(codes, (code) => isKept(code, 0)),
		exactCode: count(codes, (code) => fences.has(code)),
		tables: count(tables, (cells) => cells.every((cell) => isKept(cell, 0))),
		items: count(
			found.items.filter((text) => isWanted(text, 4)),
			(text) => isKept(text, 0),
		),
		headings: count(
			found.headings.filter((text) => isWanted(text, 2)),
			(text) => isKept(text, 0),
		),
		links: count(
			found.linked.filter(({ text }) => isWanted(text, 6)).flatMap(({ targets: some }) => some),
			(target) => targets.has(target),
		),
	};
}

/** Whether words are in a text, in this order and without others between them; of fewer than `least` words, never. */
function holds(text: string): (part: string, least: number) => boolean {
	const all = ` ${wordsOf(text).join(" ")} `;
	return (part, least) => {
		const words = wordsOf(part);
		if (words.length === 0) return least === 0;
		return words.length >= least && all.includes(` ${words.join(" ")} `);
	};
}

function wordsOf(text: string): string[] {
	return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** Marks between words split no word, but addresses and the labels of images would be words. */
function withoutMarks(markdown: string): string {
	return markdown
		.replace(/!\[(?:\\.|[^\]\\])*\]\((?:[^()]|\([^)]*\))*\)/g, " ")
		.replace(/\]\((?:[^()\s]|\([^)]*\))*\)/g, "]")
		.replace(/^([ >]*)```\S*$/gm, "$1")
		.replaceAll("&lt;", "<");
}

/** The contents of the fenced code, without the indentation of the lists and quotes around it. */
function fencesOf(markdown: string): ReadonlySet<string> {
	const found = new Set<string>();
	let open: { mark: string; indent: number; lines: string[] } | undefined;
	for (const line of markdown.split("\n")) {
		const [, before = "", mark] = /^((?:[ >]|[-*] |\d+\. )*)(`{3,})/.exec(line) ?? [];
		if (!open) {
			if (mark !== undefined) open = { mark, indent: before.length, lines: [] };
		} else if (mark === open.mark && line.trimEnd().endsWith(mark)) {
			found.add(open.lines.join("\n").trimEnd());
			open = undefined;
		} else open.lines.push(line.slice(open.indent));
	}
	return found;
}

function targetsOf(markdown: string): ReadonlySet<string> {
	const found = markdown.matchAll(/\]\(((?:[^()\s]|\([^)]*\))*)\)/g);
	return new Set([...found].map(([, target = ""]) => plainTarget(target)));
}

/** Pages may write an address in several ways. */
function plainTarget(target: string): string {
	const address = URL.parse(target)?.href ?? target;
	return address.replaceAll("%28", "(").replaceAll("%29", ")");
}

const PARAGRAPHS = names("p li dd dt td th h1 h2 h3 h4 h5 h6");
const LINES = names("div p li tr");
const AROUND = names("nav footer aside header template svg");
/** Sphinx, for one, has its breadcrumbs and side bar in divisions with a role. */
const MENU = /^(?:navigation|contentinfo|banner|complementary)$/;

interface Open {
	readonly name: string;
	readonly texts: string[];
	readonly targets: string[];
	readonly cells: string[];
	/** True once a list or table began inside: the rest is not the element's own. */
	ended: boolean;
}

/** Read with our tokenizer, but not with the converter: text as it is between the tags, blocks in code as lines. */
function partsOf(html: string, url: string) {
	const found = {
		codes: [] as string[],
		tables: [] as string[][],
		items: [] as string[],
		headings: [] as string[],
		linked: [] as { text: string; targets: string[] }[],
	};
	const open: Open[] = [];
	let around = 0;
	/** Elements that are menus by their role, and how many of the same name are open since. */
	const menus: { name: string; depth: number }[] = [];
	const close = (name: string) => {
		const at = open.findLastIndex((one) => one.name === name);
		if (at === -1) return;
		for (const { name: ended, texts, targets, cells } of open.splice(at)) {
			const text = texts.join("");
			if (ended === "pre") found.codes.push(text.replace(/^\n/, "").trimEnd());
			else if (ended === "table") found.tables.push(cells);
			else if (ended === "li") found.items.push(text);
			else if (/^h\d$/.test(ended)) found.headings.push(text);
			if (ended === "td" || ended === "th")
				open.findLast((one) => one.name === "table")?.cells.push(text);
			if (ended !== "pre" && ended !== "table" && targets.length > 0)
				found.linked.push({ text, targets });
		}
	};
	const tokens = new HtmlTokenizer(html);
	for (let kind = tokens.next(); kind !== "end"; kind = tokens.next()) {
		const { name } = tokens;
		const inCode = open.at(-1)?.name === "pre";
		if (kind === "text") {
			if (around === 0) for (const one of open) if (!one.ended) one.texts.push(tokens.text);
			continue;
		}
		if (AROUND.has(name)) around = Math.max(0, around + (kind === "open" ? 1 : -1));
		else if (kind === "open" && tokens.hasAttributes && MENU.test(tokens.attribute("role") ?? "")) {
			menus.push({ name, depth: 0 });
			around++;
		}
		const menu = menus.at(-1);
		if (menu?.name === name) menu.depth += kind === "open" ? 1 : -1;
		if (menu?.depth === 0) {
			menus.pop();
			around = Math.max(0, around - 1);
		}
		if (inCode && name !== "pre") {
			const texts = open.at(-1)?.texts ?? [];
			const isOpen = texts.length > 0 && texts.at(-1)?.endsWith("\n") === false;
			if ((LINES.has(name) && isOpen) || (name === "br" && kind === "open")) texts.push("\n");
			continue;
		}
		if (kind === "close") {
			close(name);
			continue;
		}
		if (name === "a" && tokens.hasAttributes && open.length > 0 && around === 0) {
			const target = linkOf(tokens.attribute("href") ?? "", url);
			const inner = open.findLast((one) => PARAGRAPHS.has(one.name) && !one.ended);
			if (target !== undefined) inner?.targets.push(target);
		}
		if (name === "ul" || name === "ol" || name === "table" || name === "pre")
			for (const one of open) if (one.name !== "table") one.ended = true;
		if (name === "li" || name === "p" || name === "td" || name === "th") {
			const last = open.at(-1)?.name ?? "";
			if (last === name || last === "p") close(last);
		}
		if (PARAGRAPHS.has(name) || name === "pre" || name === "table")
			open.push({ name, texts: [], targets: [], cells: [], ended: false });
		else for (const one of open) if (name !== "span") one.texts.push(INLINE.has(name) ? "" : " ");
	}
	return found;
}

const INLINE = names("a abbr b bdi code em i kbd mark q samp small strong sub sup time u var wbr");

/** An address that Markdown should have: links to places on the same page stay text. */
function linkOf(href: string, url: string): string | undefined {
	const target = URL.parse(href.trim(), url);
	if (!target || !/^https?:$/.test(target.protocol) || target.href.length > 2000) return undefined;
	const isHere = target.href.split("#")[0] === url.split("#")[0];
	return href.trim() === "" || isHere ? undefined : plainTarget(target.href);
}
