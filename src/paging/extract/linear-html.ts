import { Anchors } from "./anchors.ts";
import { Answers } from "./answers.ts";
import { CodeText } from "./code-text.ts";
import {
	BLOCKS,
	CODE_GUTTER,
	CONTAINERS,
	CodeBoxes,
	codeLanguage,
	HEADINGS,
	INLINE_CODE,
	names,
	OpenElements,
	PARAGRAPHS,
	SIGNATURE,
	VOID,
} from "./elements.ts";
import { checkboxMark, embeddedLink, imageOf } from "./embedded.ts";
import { decodeEntities } from "./entities.ts";
import { Formula, formulaMarkdown } from "./formula.ts";
import { HtmlTokenizer } from "./html-tokenizer.ts";
import { MARKS, PageLinks, pageTitle, stripControls } from "./inline-text.ts";
import { MarkdownBlocks } from "./markdown-blocks.ts";
import { isUnreadable } from "./visibility.ts";

interface LinearMarkdown {
	readonly markdown: string;
	readonly title?: string;
	/** Where the elements with an id begin in the Markdown, by id. */
	readonly anchors: ReadonlyMap<string, number>;
	/** Number of characters examined and elements closed; tests check that it grows linearly. */
	readonly work: number;
}

interface LinearOptions {
	/** Links are resolved against this address. Without it, they stay as they are. */
	readonly baseUrl?: string;
	/** What to write of the page. Without it, everything that can be read is written. */
	readonly keep?: KeptText;
}

/** A decision about each piece of a page's text. Pieces are counted as the tokenizer finds them. */
export interface KeptText {
	text(piece: number): boolean;
	/** Whether to keep an image, a frame or a rule between the pieces before and after it. */
	between(piece: number): boolean;
}

/** Converts in one pass without a tree or recursion: linear time and memory. No HTML remains outside code. */
export function linearHtmlToMarkdown(html: string, options: LinearOptions = {}): LinearMarkdown {
	return new Conversion(html, options).run();
}

class Conversion {
	readonly #tokens: HtmlTokenizer;
	readonly #blocks = new MarkdownBlocks();
	/** The open blocks. Code adds its paragraphs, and a skipped part all its elements, to find their ends. */
	readonly #open = new OpenElements<ElementInfo>((name, info, place) =>
		this.#closed(name, info, place),
	);
	readonly #keep: KeptText | undefined;
	/** Number of text tokens so far. */
	#piece = 0;
	readonly #links: PageLinks;
	#title: string | undefined;
	#inPageLink = false;
	/** Reading aids of words: whether the page has brackets for them, and whether one of ours is open. */
	#hasRubySigns = false;
	#inAid = false;
	readonly #answers = new Answers();
	readonly #boxes = new CodeBoxes();
	readonly #anchors = new Anchors();
	#work = 0;

	/** Index in `#open` of the element being skipped. */
	#skipped: number | undefined;
	#code: CodeText | undefined;
	#formula: Formula | undefined;

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
		["q", () => this.#sign('"')],
		["ruby", () => this.#startRuby()],
		["rp", () => this.#startRubySign()],
		["rt", () => this.#startAid()],
		["meta", () => void this.#boxes.isBox(this.#tokens)],
		["button", () => this.#blocks.inline.add(" ")],
		["label", () => this.#blocks.inline.add(" ")],
		["input", () => this.#checkbox()],
		["video", () => this.#embedded("video")],
		["audio", () => this.#embedded("audio")],
		["base", () => this.#links.rebase(this.#tokens.attribute("href") ?? "")],
	]);

	constructor(html: string, { baseUrl, keep }: LinearOptions) {
		this.#tokens = new HtmlTokenizer(html);
		this.#keep = keep;
		this.#links = new PageLinks(baseUrl, html.length);
	}

	run(): LinearMarkdown {
		const tokens = this.#tokens;
		for (let kind = tokens.next(); kind !== "end"; kind = tokens.next()) {
			if (kind === "open") this.#openTag(tokens.name);
			else if (kind === "close") this.#closeTag(tokens.name);
			else {
				const isKept = this.#keep === undefined || this.#keep.text(this.#piece);
				this.#piece++;
				if (isKept && this.#skipped === undefined) this.#text(tokens.text);
			}
		}
		this.#endFormula();
		this.#open.closeDownTo(0);
		this.#blocks.endBlock();
		return {
			markdown: this.#blocks.join(),
			...(this.#title ? { title: this.#title } : {}),
			anchors: this.#anchors.offsets(this.#blocks),
			work: this.#work + tokens.work,
		};
	}

	#text(text: string): void {
		if (this.#formula) this.#formula.add(text);
		else if (this.#code) this.#code.add(text);
		else if (!this.#inPageLink || !this.#isPermalink(text)) {
			if (this.#answers.note !== "" && text.trim() !== "") this.#writeNote();
			this.#blocks.inline.add(text);
		}
	}

	#isPermalink(text: string): boolean {
		return PERMALINK.test(text) || (this.#blocks.isHeading && PERMALINK_WORD.test(text));
	}

	/** Answers of a question begin with a rule and their score, written when the first text of the answer is kept. */
	#writeNote(): void {
		const { note } = this.#answers;
		this.#answers.note = "";
		this.#blocks.endBlock();
		this.#blocks.block("---");
		this.#blocks.block(note);
	}

	#openTag(name: string): void {
		const { rawText } = this.#tokens;
		const mark = MARKS.get(name);
		this.#endImplied(name);
		if (this.#skipped !== undefined) {
			if (!VOID.has(name) && rawText === undefined) this.#open.push(name, SILENT);
		} else if (rawText !== undefined) this.#rawElement(name, rawText);
		else if (this.#formula) this.#insideFormula(name, this.#formula);
		else if (isUnreadable(this.#tokens)) this.#skip(name);
		else if (name === "math") this.#startFormula();
		else if (this.#code) this.#insideCode(name, this.#code);
		else if (mark) this.#blocks.inline.open(mark);
		else if (INLINE_CODE.has(name)) this.#blocks.inline.startCode();
		else if (BLOCKS.has(name)) this.#openBlock(name);
		else this.#inlineStarts.get(name)?.();
	}

	#closeTag(name: string): void {
		this.#code?.close();
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
		this.#anchors.add(this.#tokens, this.#blocks);
		if (this.#tokens.hasAttributes) this.#answers.onOpen(this.#tokens);
		if (HEADINGS.has(name)) blocks.heading(Number(name[1]));
		if (name === "hr" && this.#isKeptHere) blocks.block("---");
		if (PARAGRAPHS.has(name)) return;
		if (this.#tokens.hasAttributes) {
			const isSignature = name === "div" && SIGNATURE.test(this.#tokens.attribute("class") ?? "");
			if (isSignature || this.#boxes.isBox(this.#tokens)) {
				this.#open.push(name, { ...this.#infoOf(), isCode: true });
				this.#startCode();
				return;
			}
		}
		this.#open.push(name, this.#infoOf());
		this.#blockStarts.get(name)?.();
	}

	#startCell(header: boolean): void {
		const [columns, rows] = [this.#number("colspan") ?? 1, this.#number("rowspan") ?? 1];
		this.#blocks.table?.startCell({ header, columns, rows });
	}

	#infoOf(): ElementInfo {
		return this.#tokens.hasAttributes ? { silent: false, language: this.#language() } : PLAIN;
	}

	/** Whether an image or a rule belongs to what is kept. */
	get #isKeptHere(): boolean {
		return this.#keep === undefined || this.#keep.between(this.#piece);
	}

	#closed(name: string, { silent, isCode, codeFrom }: ElementInfo, place: number): void {
		this.#work++;
		if (codeFrom !== undefined) this.#code?.closeLine(codeFrom);
		const blocks = this.#blocks;
		if (this.#skipped === place) this.#skipped = undefined;
		if (silent) return;
		blocks.endBlock();
		if (name === "pre" || isCode) this.#endCode();
		else if (CONTAINERS.has(name)) blocks.closeContainer();
		else if (name === "table") blocks.closeTable();
		else if (name === "td" || name === "th") blocks.table?.endCell();
	}

	#closeInline(name: string): void {
		const { inline } = this.#blocks;
		const mark = MARKS.get(name);
		if (mark) inline.close(mark);
		else if (INLINE_CODE.has(name)) inline.endCode();
		else if (name === "a") {
			inline.close("link");
			this.#inPageLink = false;
		} else if (name === "q") this.#sign('"', this.#piece - 1);
		else if (name === "rt" || name === "ruby") this.#endAid();
	}

	/** Writes a sign of ours beside a piece of text, if that is kept. */
	#sign(sign: string, piece = this.#piece): void {
		if (this.#keep === undefined || this.#keep.text(Math.max(0, piece)))
			this.#blocks.inline.add(sign);
	}

	#startRuby(): void {
		this.#hasRubySigns = false;
	}

	/** The page has signs for programs that do not show reading aids above a word. */
	#startRubySign(): void {
		this.#endAid();
		this.#hasRubySigns = true;
	}

	#startAid(): void {
		this.#endAid();
		if (this.#hasRubySigns) return;
		this.#sign("(");
		this.#inAid = true;
	}

	#endAid(): void {
		if (this.#inAid) this.#sign(")", this.#piece - 1);
		this.#inAid = false;
	}

	#openLink(): void {
		const { inline } = this.#blocks;
		inline.close("link");
		this.#anchors.add(this.#tokens, this.#blocks);
		const address = this.#tokens.attribute("href") ?? "";
		const target = this.#links.target(address);
		this.#inPageLink = address.startsWith("#");
		if (target !== undefined) inline.open("link", target);
	}

	#image(): void {
		if (!this.#isKeptHere) return;
		const image = imageOf(this.#tokens, this.#links);
		if ("latex" in image) this.#writeFormula(image.latex, false);
		else if (image.markdown !== "") this.#blocks.inline.literal(image.markdown);
	}

	#embedded(name: string): void {
		const link = this.#isKeptHere ? embeddedLink(this.#tokens, this.#links, name) : undefined;
		if (link !== undefined) this.#blocks.block(link);
	}

	#checkbox(): void {
		const mark = this.#isKeptHere ? checkboxMark(this.#tokens) : undefined;
		if (mark === undefined) return;
		this.#blocks.inline.literal(mark);
		this.#blocks.inline.add(" ");
	}

	#rawElement(name: string, content: string): void {
		const type = this.#tokens.attribute("type") ?? "";
		if (name === "title") this.#title ??= pageTitle(decodeEntities(content));
		else if (!this.#isKeptHere) return;
		else if (name === "xmp") this.#blocks.code(stripControls(content), "");
		else if (name === "iframe") this.#embedded(name);
		else if (name === "script" && /^math\/tex/i.test(type)) {
			this.#writeFormula(content, /mode\s*=\s*display/i.test(type));
		}
	}

	#startFormula(): void {
		const tokens = this.#tokens;
		const latex = tokens.attribute("data-latex") ?? tokens.attribute("alttext");
		const isKept = this.#keep === undefined || this.#keep.text(this.#piece);
		this.#formula = new Formula(isKept ? latex : "", tokens.attribute("display") === "block");
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
		if (this.#code) this.#code.add(markdown);
		else if (asBlock) this.#blocks.block(markdown);
		else this.#blocks.inline.literal(markdown);
	}

	#startCode(): void {
		// The code's own element or one of those closely around it names the language.
		const named = this.#open.innermostValues(6).find(({ language }) => language !== "");
		this.#code = new CodeText(named?.language ?? "");
	}

	#insideCode(name: string, code: CodeText): void {
		if (name === "code" && code.language === "") code.language = this.#language();
		const classes = this.#tokens.hasAttributes ? (this.#tokens.attribute("class") ?? "") : "";
		const isGutter = GUTTERS.has(name) && CODE_GUTTER.test(classes);
		if (name === "button" || isGutter) {
			this.#skip(name);
			return;
		}
		const isLine = code.open(name, classes);
		if (VOID.has(name) || !BLOCKS.has(name)) return;
		this.#open.push(name, isLine ? { ...SILENT, codeFrom: code.length } : SILENT);
	}

	#endCode(): void {
		const code = this.#code;
		this.#code = undefined;
		if (code) this.#blocks.code(code.text, code.language);
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

/** Elements that hold line numbers. `line-numbers` of a `pre` or `code` only asks for them. */
const GUTTERS = names("span a td i em b");

interface ElementInfo {
	/** True inside code or a skipped part, where the element's end has no effect. */
	readonly silent: boolean;
	readonly language: string;
	/** True for an element other than `pre` that holds code. */
	readonly isCode?: boolean;
	/** For a line of code, the pieces of code before it. */
	readonly codeFrom?: number;
}

const PLAIN: ElementInfo = { silent: false, language: "" };
const SILENT: ElementInfo = { silent: true, language: "" };

/** The symbol of a permalink or of a footnote's back link. */
const PERMALINK = /^\s*[§¶#⚓🔗↩]\ufe0f?\s*$/u;

/** Words that stand for the symbol, in headings only. */
const PERMALINK_WORD = /^\s*(?:(?:perma|copy |direct )?link|anchor)\s*$/i;
