import { Lexer, type Token, Tokenizer, type Tokens } from "marked";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { Scroller } from "./controls.tsx";
import { CopyButton } from "./copy-button.tsx";
import { syntaxOf } from "./syntax.ts";
import {
	ALL_LINES,
	ClippedText,
	clipped,
	codeSpans,
	visibleSpans,
	visibleString,
} from "./text.tsx";

const BOUNDS = { chars: 40_000, lines: 800 };

/** Renders untrusted Markdown as elements, never as HTML. */
export function MarkdownText({ text }: { text: string }) {
	return (
		<div class="markdown" dir="auto">
			<ClippedText text={text} first={BOUNDS} more={BOUNDS}>
				{(shown) => <Blocks text={shown} />}
			</ClippedText>
		</div>
	);
}

function Blocks({ text }: { text: string }) {
	return useMemo(() => <>{markdown(text)}</>, [text]);
}

/** Lists and quotes nested deeper than this are shown as text, because the lexer is recursive. */
const MAX_DEPTH = 12;
/** Maximum nesting of quotes, because lexing time doubles with each level. */
const MAX_QUOTES = 3;
/** Text is split into pieces of at most this many characters and marks: lexing time is quadratic in both. */
const MAX_PIECE = 2_000;
const MAX_MARKS = 100;

/**
 * Parses GitHub's Markdown in linear time, whatever the text contains. No text is dropped: HTML, entities and
 * link definitions are shown as written.
 */
export function markdown(source: string): ComponentChildren[] {
	return new BoundedLexer({ gfm: true, tokenizer: new BoundedTokenizer() })
		.lex(source)
		.map(element);
}

/** Renders a token. Tokens of a type not listed here are shown as written. */
function element(token: Token, key: number): ComponentChildren {
	switch (token.type) {
		case "space":
			return null;
		case "code":
			return <Code key={key} token={token as Tokens.Code} />;
		case "heading": {
			// Levels 1 and 2 are for the page's own headings.
			const Level = `h${Math.min(6, token.depth + 2)}` as "h3";
			return <Level key={key}>{inside(token)}</Level>;
		}
		case "blockquote":
			return <blockquote key={key}>{inside(token)}</blockquote>;
		case "list":
			return <List key={key} token={token as Tokens.List} />;
		case "checkbox":
			return token.checked ? "☑ " : "☐ ";
		case "table":
			return <Table key={key} token={token as Tokens.Table} />;
		case "hr":
			return <hr key={key} />;
		case "paragraph":
			return <p key={key}>{inside(token)}</p>;
		case "text":
			return inside(token);
		case "escape":
			return visibleSpans(token.text);
		case "br":
			return <br key={key} />;
		case "codespan":
			return <code key={key}>{visibleSpans(token.text)}</code>;
		case "strong":
			return <strong key={key}>{inside(token)}</strong>;
		case "em":
			return <em key={key}>{inside(token)}</em>;
		case "del":
			return <del key={key}>{inside(token)}</del>;
		case "link":
		case "image":
			return <Link key={key} token={token as Tokens.Link} />;
		case "html":
			return token.block ? <p key={key}>{visibleSpans(token.raw)}</p> : visibleSpans(token.raw);
		default:
			return visibleSpans(token.raw);
	}
}

function inside(token: Token): ComponentChildren {
	return "tokens" in token && token.tokens ? token.tokens.map(element) : visibleSpans(token.raw);
}

function Code({ token }: { token: Tokens.Code }) {
	return (
		<div class="code-block">
			{token.lang && <span class="code-language">{visibleString(token.lang)}</span>}
			<CopyButton text={token.text} what="the code" />
			<pre>{codeSpans(token.text, syntaxOf(token.lang ?? ""))}</pre>
		</div>
	);
}

function List({ token }: { token: Tokens.List }) {
	const items = token.items.map((item, at) => <li key={at}>{inside(item)}</li>);
	return token.ordered ? <ol start={Number(token.start)}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ token }: { token: Tokens.Table }) {
	const cells = (row: readonly Tokens.TableCell[], Cell: "th" | "td") => (
		<tr>
			{row.map((cell, at) => (
				<Cell key={at} style={cell.align ? { textAlign: cell.align } : {}}>
					{cell.tokens.map(element)}
				</Cell>
			))}
		</tr>
	);
	return (
		<Scroller class="markdown-table" aria-label="Table">
			<table>
				<thead>{cells(token.header, "th")}</thead>
				<tbody>{token.rows.map((row) => cells(row, "td"))}</tbody>
			</table>
		</Scroller>
	);
}

/** Shows the host, because a link's text may claim another. Images are links: no other site is contacted. */
function Link({ token }: { token: Tokens.Link }) {
	const address = /^https?:/i.test(token.href) && URL.parse(token.href);
	if (!address) return <>{visibleSpans(token.raw)}</>;
	return (
		<>
			<a href={address.href} target="_blank" rel="noopener noreferrer">
				{token.text === "" ? visibleString(token.href) : inside(token)}
			</a>
			{token.text !== token.href && <span class="soft"> ({visibleString(address.host)})</span>}
		</>
	);
}

class BoundedLexer extends Lexer {
	override inlineTokens(source: string, tokens: Token[] = []): Token[] {
		let rest = source;
		for (let end = endOfPiece(rest); end < rest.length; end = endOfPiece(rest)) {
			super.inlineTokens(rest.slice(0, end), tokens);
			rest = rest.slice(end);
		}
		return super.inlineTokens(rest, tokens);
	}
}

/** The end of a text's first piece: after its last space, if it has one. */
function endOfPiece(text: string): number {
	let end = MAX_PIECE;
	let marks = 0;
	for (const { index } of text.slice(0, MAX_PIECE).matchAll(/[*_~`[\\<]+/g)) {
		if (++marks > MAX_MARKS) {
			end = index;
			break;
		}
	}
	if (text.length <= end) return text.length;
	return (
		text.lastIndexOf(" ", end) + 1 || clipped(text, { chars: end, lines: ALL_LINES }).text.length
	);
}

class BoundedTokenizer extends Tokenizer {
	private depth = 0;

	override blockquote(source: string): Tokens.Blockquote | undefined {
		const quote = this.nested(() => super.blockquote(source), MAX_DEPTH / MAX_QUOTES);
		// marked loses the last line of `>>\na`. Such a quote is shown as written.
		return quote && lettersOf(quote.raw) !== lettersOf(quote.text) ? asWritten(quote) : quote;
	}

	override list(source: string): Tokens.List | undefined {
		return this.nested(() => super.list(source));
	}

	/** marked drops cells beyond the table's columns. Such a table is shown as written. */
	override table(source: string): Tokens.Table | undefined {
		const table = super.table(source);
		const cells = [table?.header ?? [], ...(table?.rows ?? [])].flat().map(({ text }) => text);
		return table && lettersOf(table.raw) !== lettersOf(cells.join("")) ? asWritten(table) : table;
	}

	override def(): undefined {}

	/** A single `*` after a letter or digit does not start emphasis: `2*3*4`. */
	override emStrong(source: string, masked: string, before = "") {
		const isInWord = /\w$/.test(before) && /^\*(?!\*)/.test(source);
		return isInWord ? undefined : super.emStrong(source, masked, before);
	}

	private nested<Read>(read: () => Read, levels = 1): Read | undefined {
		if (this.depth + levels > MAX_DEPTH) return undefined;
		this.depth += levels;
		try {
			return read();
		} catch {
			return undefined; // marked throws for a quote around one that is shown as written
		} finally {
			this.depth -= levels;
		}
	}
}

function asWritten<Block extends Token>({ raw }: Block): Block {
	const tokens = [{ type: "text", raw, text: raw }];
	return { type: "paragraph", raw, text: raw, tokens } as Token as Block;
}

function lettersOf(text: string): string {
	return text.replaceAll(/[>|:\\\s-]/g, "");
}
