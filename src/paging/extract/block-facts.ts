import { AREA, headingLevel, type TextBlock } from "./page-tree.ts";

/** What a block's own text says. */
export interface BlockFacts {
	readonly words: number;
	readonly chars: number;
	readonly linkChars: number;
	/** Ends of sentences. */
	readonly sentences: number;
	/** Words, if the block is a paragraph of sentences. */
	readonly proseWords: number;
	readonly commas: number;
	readonly level: number;
	/** What a heading announces: 0 for nothing known, else the number of its cue. */
	readonly cue: number;
	readonly key: string;
}

export function factsOf(block: TextBlock): BlockFacts {
	const { text } = block;
	const words = countWords(text);
	const sentences = block.isPre ? 0 : count(text, SENTENCE_END);
	const chars = text.length;
	const isProse = sentences > 0 && words >= 8 && block.linkChars < chars / 2;
	const level = headingLevel(block);
	return {
		words,
		chars,
		linkChars: Math.min(block.linkChars, chars),
		sentences,
		proseWords: isProse ? words : 0,
		commas: count(text, COMMA),
		level,
		cue: words <= 12 ? CUES.findIndex((cue) => cue.test(text)) + 1 : 0,
		key: text.slice(0, 80).toLowerCase(),
	};
}

/** Features of the block alone. */
export function pushOwnFeatures(out: number[], block: TextBlock, facts: BlockFacts): void {
	const { text, node } = block;
	const { words, chars, linkChars, sentences, commas, level, cue } = facts;
	const { areas } = node;
	out.push(
		Math.log1p(words),
		chars / Math.max(1, words),
		linkChars / Math.max(1, chars),
		Math.min(block.links, 20),
		sentences,
		commas / Math.max(1, words),
		/[.!?。！？…][")”’»\]]?$/.test(text) ? 1 : 0,
		text.endsWith(":") ? 1 : 0,
		count(text, CAPITAL) / Math.max(1, chars),
		count(text, DIGIT) / Math.max(1, chars),
		block.strongChars / Math.max(1, chars),
		level,
		block.isPre ? 1 : 0,
		TAGS.indexOf(node.name),
		block.hasTime ? 1 : 0,
		block.hasImage ? 1 : 0,
		cue,
		words <= 30 && DATE.test(text) ? 1 : 0,
		words <= 12 && /^(?:by|von|par|por|di)\s|^posted\b|^written\b|\bauthor\b/i.test(text) ? 1 : 0,
		/[©®]|\bcopyright\b|all rights reserved/i.test(text) ? 1 : 0,
		words <= 40 && REQUEST.test(text) ? 1 : 0,
		words <= 40 && CREDIT.test(text) ? 1 : 0,
		/^[\p{Ll}\d,;)]/u.test(text) ? 1 : 0,
		/[|•·»›]/.test(text) ? 1 : 0,
	);
	for (const bit of AREAS) out.push((areas & bit) !== 0 ? 1 : 0);
}

const AREAS = Object.values(AREA);

const TAGS = [
	"div",
	"p",
	"li",
	"td",
	"h1",
	"h2",
	"h3",
	"h4",
	"a",
	"span",
	"figcaption",
	"dd",
	"dt",
	"th",
	"pre",
	"section",
	"article",
	"button",
	"label",
	"blockquote",
	"form",
	"header",
	"footer",
	"summary",
	"aside",
	"nav",
];

const SENTENCE_END = /[.!?。！？…](?=["'”’)\]»]?(?:\s|$))|[。！？]/g;
const COMMA = /[,;，、،]/g;
const CAPITAL = /\p{Lu}/gu;
const DIGIT = /\d/g;
const WORD = /[\p{L}\p{N}]+/gu;
const CJK = /[\u3040-\u30ff\u3400-\u9fff]/g;
const DATE =
	/\b(?:19|20)\d\d\b|\b\d{1,2}[:.]\d{2}\b|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+\d|\b(?:ago|yesterday|today)\b|\d{1,2}[./]\d{1,2}[./]\d{2,4}/i;
const REQUEST =
	/\b(?:subscribe|newsletter|sign up|sign in|log ?in|register|follow us|donate|share (?:this|on)|tweet|facebook|twitter|whatsapp|e-?mail|cookies?|advertis\w+|download (?:the|our) app|click here|read more|learn more|continue reading|reply|report|like|view all|see all|load more|add to cart|buy now|print)\b/i;
const CREDIT =
	/\b(?:photo|image|picture|credit|getty|reuters|\bap\b|afp|courtesy|source|file photo|illustration|shutterstock|foto)\b/i;

/** What short texts announce. A block's own number is a feature, and so is the number of the heading above it. */
const CUES = [
	/^(?:related|see also|recommended|you (?:may|might)|more (?:from|on|in|like|stories|news)|read (?:next|also|more)|also (?:read|on)|similar|popular|trending|most (?:read|popular|viewed)|latest|recent|top stories|don'?t miss|what to read|editor'?s pick|further reading|suggested|explore)/i,
	/^(?:\d+\s+)?(?:comments?|leave a (?:reply|comment)|responses?|replies|discussion|post a comment|join the (?:conversation|discussion)|add a comment|show comments)/i,
	/^(?:share|follow|subscribe|newsletter|sign up|stay (?:connected|informed|up)|connect|get (?:the|our)|join|contact|support us)/i,
	/^(?:tags?|categor(?:y|ies)|topics?|filed under|archives?|sections?|navigation|menu|search|links|resources|quick links|company|about(?: us)?|legal|privacy|help|support)\b/i,
	/^(?:about the author|author|written by|contributors?|bio)\b/i,
	/^(?:references|notes|footnotes|sources|citations|bibliography|external links)\b/i,
	/^(?:advertisement|sponsored|promoted|ad)\b/i,
	/^(?:table of contents|contents|on this page|in this (?:article|section|page)|jump to|skip to)/i,
	/^(?:previous|next|back to|home|prev|older|newer|last|first|page \d)/i,
];

function count(text: string, pattern: RegExp): number {
	let found = 0;
	pattern.lastIndex = 0;
	while (pattern.test(text)) found++;
	return found;
}

function countWords(text: string): number {
	return count(text, WORD) + Math.floor(count(text, CJK) / 2);
}

/** The words of a class or id: `relatedPosts-2` is `related` and `posts`. */
export function labelWords(label: string): string[] {
	const words = label
		.replace(/([a-z])([A-Z])/g, "$1 $2")
		.toLowerCase()
		.match(/[a-z]{2,20}/g);
	return words ? [...new Set(words)] : [];
}

/** The words of a text, in lower case. */
export function textWords(text: string): string[] {
	return text.toLowerCase().match(WORD) ?? [];
}

/** Programs that write pages of one kind: 1 forums, 2 documentation, 3 blogs and news, 4 shops. */
export function generatorKind(generator: string): number {
	return GENERATORS.findIndex((pattern) => pattern.test(generator)) + 1;
}

const GENERATORS = [
	/discourse|phpbb|vbulletin|xenforo|nodebb|smf|mybb|invision|flarum|vanilla|lemmy/i,
	/docusaurus|sphinx|mkdocs|docbook|rustdoc|javadoc|gitbook|hugo|vitepress|mediawiki|doxygen|asciidoctor|antora|readme/i,
	/wordpress|ghost|blogger|drupal|joomla|medium|substack/i,
	/shopify|woocommerce|magento|prestashop/i,
];

/** At most this many words make a text short. */
export const SHORT_TEXT = 15;
