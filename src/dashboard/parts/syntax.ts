/** Undefined for plain text, such as names and operators. */
type TokenKind = "comment" | "string" | "number" | "keyword" | undefined;

export interface SyntaxToken {
	readonly kind: TokenKind;
	readonly text: string;
}

/** How a family of languages writes comments, strings and keywords. */
export interface Syntax {
	readonly pattern: RegExp;
	readonly keywords: ReadonlySet<string>;
	readonly ignoresCase?: boolean;
}

/** The syntax of a file by its name, or of a code block by its language. Undefined if it is unknown. */
export function syntaxOf(name: string): Syntax | undefined {
	const base = name.slice(name.search(/[^/\\]*$/)).toLowerCase();
	const extension = base.slice(base.lastIndexOf(".") + 1);
	return SYNTAXES.get(base) ?? SYNTAXES.get(extension);
}

/**
 * Splits a text into tokens that are equal to it when joined. Linear in the length of the text. It finds
 * comments, strings, numbers and keywords; what depends on a grammar (templates, regular expressions) stays plain.
 */
export function syntaxTokens(text: string, syntax: Syntax): SyntaxToken[] {
	const tokens: SyntaxToken[] = [];
	let plainFrom = 0;
	for (const match of text.matchAll(syntax.pattern)) {
		const kind = kindOf(match, syntax);
		if (kind === undefined) continue;
		if (match.index > plainFrom) {
			tokens.push({ kind: undefined, text: text.slice(plainFrom, match.index) });
		}
		tokens.push({ kind, text: match[0] });
		plainFrom = match.index + match[0].length;
	}
	if (plainFrom < text.length) tokens.push({ kind: undefined, text: text.slice(plainFrom) });
	return tokens;
}

/** The tokens of each line. Comments and strings may span lines. */
export function syntaxLines(text: string, syntax: Syntax | undefined): SyntaxToken[][] {
	const lines: SyntaxToken[][] = [[]];
	const tokens = syntax ? syntaxTokens(text, syntax) : [{ kind: undefined, text }];
	for (const { kind, text: whole } of tokens) {
		for (const [at, part] of whole.split("\n").entries()) {
			if (at > 0) lines.push([]);
			if (part !== "") lines.at(-1)?.push({ kind, text: part });
		}
	}
	return lines;
}

function kindOf({ groups }: RegExpExecArray, { keywords, ignoresCase }: Syntax): TokenKind {
	const { comment, string, number, word } = groups ?? {};
	if (comment !== undefined) return "comment";
	if (string !== undefined) return "string";
	if (number !== undefined) return "number";
	if (word === undefined) return undefined;
	return keywords.has(ignoresCase ? word.toLowerCase() : word) ? "keyword" : undefined;
}

const BLOCK_COMMENT = "\\/\\*[^]*?(?:\\*\\/|$)";
const QUOTED = `"(?:[^"\\\\\\n]|\\\\.)*"|'(?:[^'\\\\\\n]|\\\\.)*'`;
const TEMPLATE = "`(?:[^`\\\\]|\\\\[^])*`";
const TRIPLE = `"""[^]*?"""|'''[^]*?'''`;
const NUMBER =
	"(?<![\\w.])(?:0[xX][\\da-fA-F_]+|\\d[\\d_]*(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)[a-zA-Z]{0,3}\\b";
const WORD = "[\\p{L}_$][\\p{L}\\p{N}_$]*";

function syntax(comment: string, string: string, keywords: string, ignoresCase = false): Syntax {
	const pattern = `(?<comment>${comment})|(?<string>${string})|(?<number>${NUMBER})|(?<word>${WORD})`;
	return {
		pattern: new RegExp(pattern, "gmu"),
		keywords: new Set(keywords.split(" ")),
		ignoresCase,
	};
}

const CURLY = syntax(
	`\\/\\/[^\\n]*|${BLOCK_COMMENT}`,
	// Not after `<` or `&`: there a quote begins the name of a lifetime.
	`(?<![<&])(?:${QUOTED})|${TEMPLATE}`,
	"abstract as async await bool boolean break byte case catch chan char class const constexpr continue crate debugger declare default defer delete do double dyn else enum export extends extern fallthrough false final finally float fn for from fun func function get go goto guard if impl implements import in inline instanceof int interface is keyof let long loop match mod module move mut namespace new nil null nullptr object of operator override package private protected pub public range readonly ref return satisfies sealed select self set short signed sizeof static struct super switch template this throw throws trait true try type typedef typeof undefined union unsafe unsigned use using val var virtual void volatile when where while with yield",
);
const HASH = syntax(
	"(?<![^\\s;({\\[])#[^\\n]*",
	`${TRIPLE}|${QUOTED}`,
	"and as assert async await begin break case class continue def del do done elif else elsif end ensure esac except export False false fi finally for from function global if import in is lambda local module next nil None nonlocal not null or pass raise rescue return self set super switch then True true try unless until when while with yield",
);
const SQL = syntax(
	`--[^\\n]*|${BLOCK_COMMENT}`,
	QUOTED,
	"add all alter and as asc begin between by case cast check column commit constraint create cross database default delete desc distinct drop else end except exists foreign from full group having if in index inner insert intersect into is join key left like limit not null offset on or order outer primary references returning right rollback select set table then transaction trigger union unique update using values view when where with",
	true,
);
const CSS = syntax(BLOCK_COMMENT, QUOTED, "important media supports import layer container");
const MARKUP = syntax("<!--[^]*?(?:-->|$)", QUOTED, "");
const DATA = syntax(`\\/\\/[^\\n]*|${BLOCK_COMMENT}`, QUOTED, "true false null");

const SYNTAXES: ReadonlyMap<string, Syntax> = new Map(
	(
		[
			[
				CURLY,
				"ts tsx mts cts js jsx mjs cjs typescript javascript java kt kts kotlin go rs rust c h cc cpp hpp cs swift scala dart php proto zig groovy gradle",
			],
			[
				HASH,
				"py python rb ruby sh bash zsh fish shell yaml yml toml ini conf env dockerfile makefile mk pl r ex exs tf cmake nix",
			],
			[SQL, "sql"],
			[CSS, "css scss less"],
			[MARKUP, "html htm xml svg vue svelte"],
			[DATA, "json jsonc json5 jsonl"],
		] as const
	).flatMap(([own, names]) => names.split(" ").map((name) => [name, own] as const)),
);
