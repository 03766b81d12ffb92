import {
	BLOCKS,
	CODE_LINES,
	CONTAINERS,
	codeLanguage,
	HEADINGS,
	INLINE_CODE,
	OpenElements,
	PARAGRAPHS,
	VOID,
} from "./elements.ts";
import { decodeEntities } from "./entities.ts";
import { Formula, formulaMarkdown, imagedFormula } from "./formula.ts";
import { HtmlTokenizer } from "./html-tokenizer.ts";
import { collapse, escapeTags, MARKS, PageLinks, pageTitle, stripControls } from "./inline-text.ts";
import { MarkdownBlocks, type Part, type PartKind } from "./markdown-blocks.ts";
import { isExcluded, type PageShape, PageSignals } from "./page-signals.ts";

export interface LinearMarkdown {
	readonly markdown: string;
	readonly title?: string;
	readonly mainPart?: PartKind;
	readonly isArticle: boolean;
	/** Size of the page's tree, which determines the cost of Defuddle and Readability. */
	readonly shape: PageShape;
	/** Number of characters examined and elements closed; tests check that it grows linearly. */
	readonly work: number;
}

export interface LinearOptions {
	/** Links are resolved against this address. Without it, they stay as they are. */
	readonly baseUrl?: string;
	/** `"page"` (the default) skips clutter, and everything outside a marked main part. */
	readonly scope?: "page" | "everything";
}

/** Converts in one pass without a tree or recursion: linear time and memory. No HTML remains outside code. */
export function linearHtmlToMarkdown(html: string, options: LinearOptions = {}): LinearMarkdown {
	const conversion = new Conversion(html, options);
	const first = conversion.run();
	if (first.markdown !== "" || !conversion.hasSkippedText) return first;
	// All of the page's text is in parts that are usually clutter, so nothing is skipped this time.
	const second = new Conversion(html, { ...options, scope: "everything" }).run();
	return { ...second, work: first.work + second.work };
}

class Conversion {
	hasSkippedText = false;
	readonly #tokens: HtmlTokenizer;
	readonly #blocks = new MarkdownBlocks();
	/** The open blocks. Code adds its paragraphs, and a skipped part all its elements, to find their ends. */
	readonly #open = new OpenElements<ElementInfo>((name, info, place) =>
		this.#closed(name, info, place),
	);
	readonly #wholePage: boolean;
	readonly #links: PageLinks;
	#title: string | undefined;
	#inPageLink = false;
	#work = 0;
	readonly #signals = new PageSignals();

	/** Index in `#open` of the element being skipped. */
	#skipped: number | undefined;
	#code: Code | undefined;
	#formula: Formula | undefined;
	readonly #parts: Part[] = [];

	readonly #blockStarts = new Map<string, () => void>([
		["ul", () => this.#blocks.openList()],
		["menu", () => this.#blocks.openList()],
		["dir", () => this.#blocks.openList()],
		["ol", () => this.#blocks.openList(this.#number("start") ?? 1)],
		["li", () => this.#blocks.item(this.#number("value"))],
		["dd", () => this.#blocks.definition()],
		["blockquote", () => this.#blocks.openQuote()],
		["pre", () => this.#startCode()],
		["table", () => this.#blocks.openTable()],
		["tr", () => this.#blocks.table?.startRow()],
		["td", () => this.#startCell(false)],
		["th", () => this.#startCell(true)],
	]);
	readonly #inlineStarts = new Map<string, () => void>([
		["a", () => this.#openLink()],
		["br", () => this.#blocks.inline.endLine() || this.#blocks.endBlock()],
		["img", () => this.#image()],
		["q", () => this.#blocks.inline.add('"')],
		["button", () => this.#blocks.inline.add(" ")],
		["label", () => this.#blocks.inline.add(" ")],
		["input", () => this.#checkbox()],
		["video", () => this.#embedded("video")],
		["audio", () => this.#embedded("audio")],
		["base", () => this.#links.rebase(this.#tokens.attribute("href") ?? "")],
	]);

	constructor(html: string, { baseUrl, scope = "page" }: LinearOptions) {
		this.#tokens = new HtmlTokenizer(html);
		this.#wholePage = scope === "page";
		this.#links = new PageLinks(baseUrl, html.length);
	}

	run(): LinearMarkdown {
		const tokens = this.#tokens;
		for (let kind = tokens.next(); kind !== "end"; kind = tokens.next()) {
			if (kind === "open") {
				this.#signals.onOpen(tokens);
				this.#openTag(tokens.name);
			} else if (kind === "close") {
				this.#signals.onClose(tokens.name);
				this.#closeTag(tokens.name);
			} else if (this.#skipped === undefined) this.#text(tokens.text);
			else this.hasSkippedText = true;
		}
		this.#endFormula();
		this.#open.closeDownTo(0);
		this.#blocks.endBlock();
		return {
			...(this.#wholePage ? this.#blocks.joinMain(this.#parts) : { markdown: this.#blocks.join() }),
			...(this.#title ? { title: this.#title } : {}),
			isArticle: this.#signals.isArticle,
			shape: this.#signals.shape,
			work: this.#work + tokens.work,
		};
	}

	#text(text: string): void {
		if (this.#formula) this.#formula.add(text);
		else if (this.#code) this.#code.pieces.push(text);
		else if (!this.#inPageLink || !PERMALINK.test(text)) this.#blocks.inline.add(text);
	}

	#openTag(name: string): void {
		const { rawText } = this.#tokens;
		const mark = MARKS.get(name);
		this.#endImplied(name);
		if (this.#skipped !== undefined) {
			if (!VOID.has(name) && rawText === undefined) this.#open.push(name, SILENT);
		} else if (rawText !== undefined) this.#rawElement(name, rawText);
		else if (this.#formula) this.#insideFormula(name, this.#formula);
		else if (isExcluded(this.#tokens, this.#wholePage, this.#open)) this.#skip(name);
		else if (name === "math") this.#startFormula();
		else if (this.#code) this.#insideCode(name, this.#code);
		else if (mark) this.#blocks.inline.open(mark);
		else if (INLINE_CODE.has(name)) this.#blocks.inline.startCode();
		else if (BLOCKS.has(name)) this.#openBlock(name);
		else this.#inlineStarts.get(name)?.();
	}

	#closeTag(name: string): void {
		if (this.#formula) {
			if (name === "math") this.#endFormula();
			else if (name.startsWith("annotation")) this.#formula.endAnnotation();
			else this.#formula.close(name);
			return;
		}
		if (this.#skipped === undefined && this.#code === undefined) {
			if (!BLOCKS.has(name)) {
				this.#closeInline(name);
				return;
			}
			this.#blocks.endBlock();
			if (HEADINGS.has(name)) this.#blocks.heading(0);
		}
		this.#open.close(name);
	}

	#endImplied(name: string): void {
		this.#open.endImplied(name);
		// Inside a skipped part, paragraphs are among the open elements too, and a block ends them.
		const endsParagraph = this.#skipped !== undefined && BLOCKS.has(name);
		if (endsParagraph && this.#open.innermost === "p") {
			this.#open.closeDownTo(this.#open.length - 1);
		}
	}

	#openBlock(name: string): void {
		const blocks = this.#blocks;
		blocks.endBlock();
		if (HEADINGS.has(name)) blocks.heading(Number(name[1]));
		if (name === "hr") blocks.block("---");
		if (PARAGRAPHS.has(name)) return;
		this.#open.push(name, this.#infoOf(name));
		this.#blockStarts.get(name)?.();
	}

	#startCell(header: boolean): void {
		const [columns, rows] = [this.#number("colspan") ?? 1, this.#number("rowspan") ?? 1];
		this.#blocks.table?.startCell({ header, columns, rows });
	}

	#infoOf(name: string): ElementInfo {
		if (!this.#tokens.hasAttributes && name !== "main" && name !== "article") return PLAIN;
		const isMain = name === "main" || this.#tokens.attribute("role") === "main";
		const info: ElementInfo = { silent: false, language: this.#language() };
		if (!isMain && name !== "article") return info;
		const part: Part = { kind: isMain ? "main" : "article", from: this.#blocks.length };
		this.#parts.push(part);
		return { ...info, part };
	}

	#closed(name: string, { silent, part }: ElementInfo, place: number): void {
		this.#work++;
		const blocks = this.#blocks;
		if (this.#skipped === place) this.#skipped = undefined;
		if (silent) return;
		blocks.endBlock();
		if (name === "pre") this.#endCode();
		else if (CONTAINERS.has(name)) blocks.closeContainer();
		else if (name === "table") blocks.closeTable();
		else if (name === "td" || name === "th") blocks.table?.endCell();
		if (part) part.to = blocks.length;
	}

	#closeInline(name: string): void {
		const { inline } = this.#blocks;
		const mark = MARKS.get(name);
		if (mark) inline.close(mark);
		else if (INLINE_CODE.has(name)) inline.endCode();
		else if (name === "a") {
			inline.close("link");
			this.#inPageLink = false;
		} else if (name === "q") inline.add('"');
	}

	#openLink(): void {
		const { inline } = this.#blocks;
		inline.close("link");
		const address = this.#tokens.attribute("href") ?? "";
		const target = this.#links.target(address);
		this.#inPageLink = address.startsWith("#");
		if (target !== undefined) inline.open("link", target);
	}

	#image(): void {
		const tokens = this.#tokens;
		const alt = tokens.attribute("alt") ?? "";
		const latex = imagedFormula(alt, tokens.attribute("class") ?? "");
		if (latex !== undefined) {
			this.#writeFormula(latex, false);
			return;
		}
		const label = escapeTags(collapse(alt).trim()).replace(/[[\]]/g, "\\$&");
		const target = IMAGE_SOURCES.map((name) =>
			this.#links.target(tokens.attribute(name) ?? ""),
		).find((found) => found !== undefined);
		if (target !== undefined) this.#blocks.inline.literal(`![${label}](${target})`);
		else if (label !== "") this.#blocks.inline.literal(label);
	}

	#embedded(name: string): void {
		const target = this.#links.target(this.#tokens.attribute("src") ?? "");
		const title = collapse(this.#tokens.attribute("title") ?? "").trim();
		if (target === undefined) return;
		this.#blocks.block(`[${escapeTags(title || name)}](${target})`);
	}

	#checkbox(): void {
		if (this.#tokens.attribute("type") !== "checkbox") return;
		const isChecked = this.#tokens.attribute("checked") !== undefined;
		this.#blocks.inline.literal(isChecked ? "[x]" : "[ ]");
		this.#blocks.inline.add(" ");
	}

	#rawElement(name: string, content: string): void {
		const type = this.#tokens.attribute("type") ?? "";
		if (name === "title") this.#title ??= pageTitle(decodeEntities(content));
		else if (name === "xmp") this.#blocks.code(stripControls(content), "");
		else if (name === "iframe") this.#embedded(name);
		else if (name === "script" && /^math\/tex/i.test(type)) {
			this.#writeFormula(content, /mode\s*=\s*display/i.test(type));
		}
	}

	#startFormula(): void {
		const tokens = this.#tokens;
		const latex = tokens.attribute("data-latex") ?? tokens.attribute("alttext");
		this.#formula = new Formula(latex, tokens.attribute("display") === "block");
		if (tokens.selfClosing) this.#endFormula();
	}

	#insideFormula(name: string, formula: Formula): void {
		if (name === "annotation" || name === "annotation-xml") {
			formula.startAnnotation(/\btex\b/i.test(this.#tokens.attribute("encoding") ?? ""));
		} else if (BLOCKS.has(name)) {
			// A formula holds no blocks, so this formula was never closed.
			this.#endFormula();
			this.#openTag(name);
		} else if (!VOID.has(name)) {
			formula.open(name);
			if (this.#tokens.selfClosing) formula.close(name);
		}
	}

	#endFormula(): void {
		const formula = this.#formula;
		this.#formula = undefined;
		if (formula) this.#writeFormula(formula.latex, formula.display);
	}

	#writeFormula(latex: string, display: boolean): void {
		const asBlock = display && !this.#blocks.table && !this.#code;
		const markdown = formulaMarkdown(stripControls(latex), asBlock);
		if (markdown === "") return;
		if (this.#code) this.#code.pieces.push(markdown);
		else if (asBlock) this.#blocks.block(markdown);
		else this.#blocks.inline.literal(markdown);
	}

	#startCode(): void {
		// The code's own element or one of the two around it names the language.
		const named = this.#open.innermostValues(3).find(({ language }) => language !== "");
		this.#code = { pieces: [], language: named?.language ?? "" };
	}

	#insideCode(name: string, code: Code): void {
		if (name === "code" && code.language === "") code.language = this.#language();
		if (name === "br") code.pieces.push("\n");
		if (VOID.has(name)) return;
		// Some highlighters wrap every line in an element.
		const isLine = CODE_LINES.has(name) && code.pieces.length > 0;
		if (isLine && !code.pieces.at(-1)?.endsWith("\n")) code.pieces.push("\n");
		if (BLOCKS.has(name)) this.#open.push(name, SILENT);
	}

	#endCode(): void {
		const code = this.#code;
		this.#code = undefined;
		if (!code) return;
		const text = stripControls(code.pieces.join("")).replace(/\r\n?/g, "\n");
		this.#blocks.code(text, code.language);
	}

	#language(): string {
		return codeLanguage((name) => this.#tokens.attribute(name));
	}

	#number(name: string): number | undefined {
		const value = Number.parseInt(this.#tokens.attribute(name) ?? "", 10);
		return Number.isSafeInteger(value) && value >= 0 ? value : undefined;
	}

	#skip(name: string): void {
		if (BLOCKS.has(name)) this.#blocks.endBlock();
		if (VOID.has(name) || (name === "svg" && this.#tokens.selfClosing)) return;
		this.#skipped = this.#open.length;
		this.#open.push(name, SILENT);
	}
}

interface Code {
	readonly pieces: string[];
	language: string;
}

interface ElementInfo {
	/** True inside code or a skipped part, where the element's end has no effect. */
	readonly silent: boolean;
	readonly language: string;
	readonly part?: Part;
}

const PLAIN: ElementInfo = { silent: false, language: "" };
const SILENT: ElementInfo = { silent: true, language: "" };

/** The symbol of a permalink or of a footnote's back link. */
const PERMALINK = /^\s*[§¶#⚓🔗↩]\ufe0f?\s*$/u;

/** The first attribute with a usable address is used, since lazy images have a placeholder in `src`. */
const IMAGE_SOURCES = ["src", "data-src", "data-original", "data-lazy-src"];
