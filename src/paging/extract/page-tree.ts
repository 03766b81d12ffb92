import { BLOCKS, CodeBoxes, HEADINGS, names, OpenElements, VOID } from "./elements.ts";
import { HtmlTokenizer } from "./html-tokenizer.ts";
import { collapse } from "./inline-text.ts";
import { PageSignals } from "./page-signals.ts";
import { isHidden, isUnreadable } from "./visibility.ts";

/** A page as its text blocks in order, and a light tree of the elements around them. */
export interface PageTree {
	readonly blocks: readonly TextBlock[];
	readonly nodes: readonly TreeNode[];
	/** The block of each text token of the page, in order; -1 for white space outside blocks and unreadable text. */
	readonly blockOfText: readonly number[];
	readonly signals: PageSignals;
	/** True if the page has more elements or blocks than the tree may hold; the rest shares the last ones. */
	readonly isCut: boolean;
}

export interface TreeNode {
	readonly index: number;
	readonly parent: TreeNode | undefined;
	readonly name: string;
	/** Class, id and similar attributes, as the page has them. */
	readonly label: string;
	readonly depth: number;
	/** Kinds of this element and of all elements around it; see `AREA`. */
	readonly areas: number;
	/** The blocks inside: `first` up to, without, `end`. */
	readonly first: number;
	end: number;
}

export interface TextBlock {
	readonly node: TreeNode;
	readonly text: string;
	/** Characters inside links, and the number of links. */
	readonly linkChars: number;
	readonly links: number;
	/** Characters inside `b`, `strong`, `em`, `i`. */
	readonly strongChars: number;
	/** Label of the first inline element with one. */
	readonly inlineLabel: string;
	readonly hasTime: boolean;
	readonly hasImage: boolean;
	readonly isPre: boolean;
}

/** One bit for each kind of element around a block. */
export const AREA = {
	nav: 1,
	footer: 2,
	header: 4,
	aside: 8,
	main: 16,
	article: 32,
	form: 64,
	list: 128,
	table: 256,
	figure: 512,
	dialog: 1024,
	section: 2048,
	button: 4096,
	quote: 8192,
	code: 16384,
	hidden: 32768,
	body: 65536,
	terms: 131072,
	comment: 262144,
	tabs: 524288,
} as const;

const AREA_OF_NAME: Readonly<Record<string, number>> = {
	nav: AREA.nav,
	footer: AREA.footer,
	header: AREA.header,
	aside: AREA.aside,
	main: AREA.main,
	article: AREA.article,
	form: AREA.form,
	ul: AREA.list,
	ol: AREA.list,
	table: AREA.table,
	figure: AREA.figure,
	dialog: AREA.dialog,
	section: AREA.section,
	button: AREA.button,
	label: AREA.button,
	blockquote: AREA.quote,
	pre: AREA.code,
	dl: AREA.terms,
};
const AREA_OF_ROLE: Readonly<Record<string, number>> = {
	navigation: AREA.nav,
	contentinfo: AREA.footer,
	banner: AREA.header,
	complementary: AREA.aside,
	main: AREA.main,
	article: AREA.article,
	search: AREA.form,
	dialog: AREA.dialog,
	alertdialog: AREA.dialog,
	tabpanel: AREA.tabs,
};

/** Elements inside a line of text. All others are nodes of the tree. */
const INLINE = names(
	"a abbr acronym b bdi bdo big br cite code data del dfn em font i img input ins kbd mark nobr q rp rt ruby s samp small span " +
		"strike strong sub sup time tt u var wbr svg path label button",
);
const STRONG = names("b strong em i");

/** Beyond these, elements share their parent's node and text the last block, so memory stays bounded. */
const MAX_NODES = 300_000;
const MAX_BLOCKS = 300_000;
const MAX_NODE_DEPTH = 400;
const MAX_LABEL = 300;

/** Reads the page once; linear in time and memory. */
export function readPageTree(html: string): PageTree {
	return new TreeReader(html).read();
}

class TreeReader {
	readonly #tokens: HtmlTokenizer;
	readonly #nodes: TreeNode[] = [];
	readonly #blocks: TextBlock[] = [];
	readonly #blockOfText: number[] = [];
	readonly #signals = new PageSignals();
	readonly #boxes = new CodeBoxes();
	readonly #root: TreeNode;
	#node: TreeNode;
	/** Values are the nodes to return to when the element closes. */
	readonly #open = new OpenElements<TreeNode>((name, outer, place) =>
		this.#closed(name, outer, place),
	);
	/** Place of the outermost unreadable element, and of the outermost `pre`. */
	#unreadable: number | undefined;
	#pre: number | undefined;
	#linkDepth = 0;
	#strongDepth = 0;
	#breaks = 0;
	#isCut = false;
	#draft: Draft = emptyDraft();

	constructor(html: string) {
		this.#tokens = new HtmlTokenizer(html);
		this.#root = {
			index: 0,
			parent: undefined,
			name: "html",
			label: "",
			depth: 0,
			areas: 0,
			first: 0,
			end: 0,
		};
		this.#nodes.push(this.#root);
		this.#node = this.#root;
	}

	read(): PageTree {
		const tokens = this.#tokens;
		for (let kind = tokens.next(); kind !== "end"; kind = tokens.next()) {
			if (kind === "open") this.#openTag(tokens.name);
			else if (kind === "close") this.#closeTag(tokens.name);
			else this.#text();
		}
		this.#open.closeDownTo(0);
		this.#endBlock();
		this.#root.end = this.#blocks.length;
		return {
			blocks: this.#blocks,
			nodes: this.#nodes,
			blockOfText: this.#blockOfText,
			signals: this.#signals,
			isCut: this.#isCut,
		};
	}

	#text(): void {
		if (this.#unreadable !== undefined) {
			this.#blockOfText.push(-1);
			return;
		}
		const text = this.#tokens.text;
		const visible = this.#pre === undefined ? collapse(text) : text;
		const isBlank = visible.trim() === "";
		if (isBlank && this.#draft.text.length === 0) {
			this.#blockOfText.push(-1);
			return;
		}
		this.#blockOfText.push(Math.min(this.#blocks.length, MAX_BLOCKS - 1));
		this.#draft.text.push(visible);
		if (isBlank) return;
		this.#breaks = 0;
		if (this.#linkDepth > 0) this.#draft.linkChars += visible.length;
		if (this.#strongDepth > 0) this.#draft.strongChars += visible.length;
	}

	#openTag(name: string): void {
		const tokens = this.#tokens;
		this.#signals.onOpen(tokens);
		if (name === "meta") this.#boxes.isBox(tokens);
		if (this.#unreadable === undefined && BLOCKS.has(name) && this.#pre === undefined)
			this.#endBlock();
		this.#open.endImplied(name);
		if (BLOCKS.has(name) && this.#open.innermost === "p")
			this.#open.closeDownTo(this.#open.length - 1);
		if (tokens.rawText !== undefined) return;
		if (this.#unreadable === undefined && isUnreadable(tokens)) {
			if (VOID.has(name) || (name === "svg" && tokens.selfClosing)) return;
			this.#unreadable = this.#open.length;
		}
		if (this.#unreadable !== undefined) {
			if (!VOID.has(name)) this.#open.push(name, this.#node);
			return;
		}
		if (INLINE.has(name)) this.#inline(name);
		else if (!VOID.has(name)) this.#enter(name);
	}

	#inline(name: string): void {
		const tokens = this.#tokens;
		const draft = this.#draft;
		if (name === "a") {
			this.#linkDepth = 1;
			draft.links++;
		} else if (STRONG.has(name)) this.#strongDepth++;
		else if (name === "time") draft.hasTime = true;
		else if (name === "img") draft.hasImage = true;
		else if (name === "br" && this.#pre === undefined && ++this.#breaks > 1) this.#endBlock();
		if (draft.inlineLabel === "" && tokens.hasAttributes) draft.inlineLabel = this.#label();
		// Hidden and unreadable inline elements must be found again at their end.
		if (name === "button" || name === "label") this.#enter(name);
	}

	#enter(name: string): void {
		this.#open.push(name, this.#node);
		if (this.#pre === undefined && (name === "pre" || this.#boxes.isBox(this.#tokens)))
			this.#pre = this.#open.length - 1;
		if (this.#nodes.length >= MAX_NODES || this.#node.depth >= MAX_NODE_DEPTH) {
			this.#isCut = true;
			return;
		}
		const tokens = this.#tokens;
		const role = tokens.hasAttributes ? (tokens.attribute("role") ?? "") : "";
		let areas = this.#node.areas | (AREA_OF_NAME[name] ?? 0) | (AREA_OF_ROLE[role] ?? 0);
		if (tokens.hasAttributes) {
			if (isHidden(tokens)) areas |= AREA.hidden;
			const property = tokens.attribute("itemprop") ?? "";
			if (/^(?:articleBody|text|description)$/.test(property)) areas |= AREA.body;
			if (/^comment$/i.test(property)) areas |= AREA.comment;
		}
		const node: TreeNode = {
			index: this.#nodes.length,
			parent: this.#node,
			name,
			label: this.#label(name),
			depth: this.#node.depth + 1,
			areas,
			first: this.#nextBlock,
			end: this.#nextBlock,
		};
		this.#nodes.push(node);
		this.#node = node;
	}

	/** The first block that does not start before this place: an element inside a sentence does not hold the sentence. */
	get #nextBlock(): number {
		return this.#blocks.length + (this.#draft.text.length > 0 ? 1 : 0);
	}

	#label(name = ""): string {
		const tokens = this.#tokens;
		const custom = name.includes("-") ? `${name} ` : "";
		if (!tokens.hasAttributes) return custom;
		const parts = ["class", "id", "role", "itemprop", "data-testid", "aria-label"].map((key) =>
			(tokens.attribute(key) ?? "").slice(0, MAX_LABEL),
		);
		return custom + parts.filter((part) => part !== "").join(" ");
	}

	#closeTag(name: string): void {
		if (this.#unreadable === undefined) {
			if (name === "a") this.#linkDepth = 0;
			else if (STRONG.has(name)) this.#strongDepth = Math.max(0, this.#strongDepth - 1);
			if (BLOCKS.has(name) && (this.#pre === undefined || name === "pre")) this.#endBlock();
			if (INLINE.has(name) && name !== "button" && name !== "label") return;
		}
		this.#open.close(name);
	}

	#closed(_name: string, outer: TreeNode, place: number): void {
		if (this.#unreadable === place) this.#unreadable = undefined;
		if (this.#pre === place) {
			this.#endBlock();
			this.#pre = undefined;
		}
		if (this.#unreadable !== undefined) return;
		if (this.#node !== outer) this.#node.end = this.#nextBlock;
		this.#node = outer;
	}

	#endBlock(): void {
		const draft = this.#draft;
		this.#breaks = 0;
		if (draft.text.length === 0) {
			draft.inlineLabel = "";
			draft.links = 0;
			draft.hasImage = false;
			draft.hasTime = false;
			return;
		}
		this.#draft = emptyDraft();
		if (this.#blocks.length >= MAX_BLOCKS) {
			this.#isCut = true;
			return;
		}
		const isPre = this.#pre !== undefined;
		const joined = draft.text.join("");
		this.#blocks.push({
			node: this.#node,
			text: isPre ? joined : joined.replace(/\s+/g, " ").trim(),
			linkChars: draft.linkChars,
			links: draft.links,
			strongChars: draft.strongChars,
			inlineLabel: draft.inlineLabel,
			hasTime: draft.hasTime,
			hasImage: draft.hasImage,
			isPre,
		});
	}
}

interface Draft {
	readonly text: string[];
	linkChars: number;
	links: number;
	strongChars: number;
	inlineLabel: string;
	hasTime: boolean;
	hasImage: boolean;
}

const emptyDraft = (): Draft => ({
	text: [],
	linkChars: 0,
	links: 0,
	strongChars: 0,
	inlineLabel: "",
	hasTime: false,
	hasImage: false,
});

/** The level of the heading that the block is, 0 if it is none. */
export function headingLevel({ node }: TextBlock): number {
	for (let at: TreeNode | undefined = node, steps = 0; at && steps < 3; at = at.parent, steps++) {
		if (HEADINGS.has(at.name)) return Number(at.name[1]);
	}
	return 0;
}
