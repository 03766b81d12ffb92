import { AREA, headingLevel, type PageTree, type TextBlock, type TreeNode } from "./page-tree.ts";

/**
 * Marks blocks that are clutter by any standard: hidden parts and dialogs, link lists with a telling name or heading, requests
 * to subscribe, signatures of posts. A class or id alone does not decide (`share-config` may be the topic): the part must also be mostly links, or
 * be short and ask for something.
 */
export function markClutter({ blocks, nodes }: PageTree): Uint8Array {
	const marks = new Uint8Array(blocks.length);
	const sums = sumsOf(blocks);
	// A page that hides most of its text has a script that shows it.
	const hides = hiddenShare(blocks) <= 0.5;
	for (const { first, end, label, name, areas, parent } of nodes) {
		if (first === end || marks[first] === 1 || parent === undefined) continue;
		const { chars, linkChars } = sums(first, end);
		const isMostlyLinks = linkChars > 0 && linkChars >= chars / 2;
		const isOwnHidden = hides && (areas & ~parent.areas & HIDDEN) !== 0;
		const isSide = name === "aside" && isMostlyLinks;
		const isNamed =
			CLUTTER_NAME.test(label) && (areas & AREA.code) === 0 && !/\bmain\b/.test(label);
		const isPrompt = chars <= 500 && PROMPT_NAME.test(label);
		const isRelated = isMostlyLinks && isRelatedHeading(blocks[first] as TextBlock, end - first);
		const isMarked =
			isOwnHidden ||
			isSide ||
			ALWAYS_CLUTTER.test(label) ||
			(chars <= 500 && BAR_NAME.test(label)) ||
			(isNamed && (isMostlyLinks || isPrompt));
		if (isMarked || isRelated || isPostSignature(label, parent)) marks.fill(1, first, end);
	}
	return marks;
}

/** What an author puts below each post. Functions have signatures too, but not inside of posts. */
function isPostSignature(label: string, parent: TreeNode): boolean {
	if (!/signature/i.test(label)) return false;
	const around = [label, parent.label, parent.parent?.label ?? "", parent.parent?.parent?.label];
	return around.some((one) => POST.test(one ?? ""));
}

const POST = /post|message|msg|comment|entry/i;

function hiddenShare(blocks: readonly TextBlock[]): number {
	let [hidden, all] = [0, 0];
	for (const { text, node } of blocks) {
		all += text.length;
		if ((node.areas & HIDDEN) !== 0) hidden += text.length;
	}
	return hidden / Math.max(1, all);
}

const HIDDEN = AREA.hidden | AREA.dialog;

function isRelatedHeading(block: TextBlock, size: number): boolean {
	return size > 1 && headingLevel(block) > 0 && RELATED_HEADING.test(block.text);
}

/** Characters in a range of blocks; headings do not count, since a list of links has one too. */
function sumsOf(blocks: readonly TextBlock[]) {
	const chars = new Float64Array(blocks.length + 1);
	const links = new Float64Array(blocks.length + 1);
	for (const [i, block] of blocks.entries()) {
		const isHeading = headingLevel(block) > 0;
		chars[i + 1] = (chars[i] as number) + (isHeading ? 0 : block.text.length);
		links[i + 1] =
			(links[i] as number) + (isHeading ? 0 : Math.min(block.linkChars, block.text.length));
	}
	return (first: number, end: number) => ({
		chars: (chars[end] as number) - (chars[first] as number),
		linkChars: (links[end] as number) - (links[first] as number),
	});
}

const CLUTTER_NAME =
	/(?:^|[\s_-])(?:share|sharing|social|related|recommend\w*|promo\w*|sponsor\w*|advert\w*|ads?|breadcrumbs?|byline|tags|pagination|menu|sidebar|cookies?|consent|gdpr|newsletter|subscribe|subscription|signup|skip)(?:$|[\s_-])/i;
/** Names that programs give only to what is no text of the page: consent dialogs, advertisements in threads, notes below articles. */
const ALWAYS_CLUTTER =
	/(?:^|\s)(?:onetrust-\w+-sdk|CybotCookiebotDialog|usercentrics-root|cmplz-cookiebanner|qc-cmp2-\w+|didomi-host|sam(?:Item|BannerUnit|CodeUnit)|printfooter|nocontent)(?:$|\s)/i;
/** Also the name of what holds the page: `has-announcement-bar`. */
const BAR_NAME = /(?:^|[\s_-])(?:promo|announcement)-?bar/i;
const PROMPT_NAME = /cookie|consent|gdpr|newsletter|subscri|signup/i;
const RELATED_HEADING =
	/^\s*(?:related|recommended|popular|more|latest)\s+(?:articles?|posts?|stories|news|reading|from)\b|^\s*(?:you (?:may|might) also|read next|share this)/i;
