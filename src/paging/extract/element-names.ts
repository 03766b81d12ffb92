/** The names in a list with spaces between. */
export const names = (list: string): ReadonlySet<string> => new Set(list.split(" "));

/** Elements that have no inside. */
export const VOID = names("area base br col embed hr img input link meta param source track wbr");
/** Elements whose end most pages leave out. */
export const RARELY_CLOSED = names(
	"p li dt dd tr td th thead tbody tfoot option optgroup html head body",
);
/** Code within a paragraph. */
export const INLINE_CODE = names("code tt kbd samp");
/** The number is the level. */
export const HEADINGS = names("h1 h2 h3 h4 h5 h6");
/** Blocks that other blocks are set off in. */
export const CONTAINERS = names("ul ol menu dir blockquote");
/** Blocks without an inside of their own: where they end does not matter. */
export const PARAGRAPHS = names(
	"p h1 h2 h3 h4 h5 h6 hr html head body caption summary figcaption legend",
);
/** Elements that are no part of a paragraph. */
export const BLOCKS = names(
	"address article aside blockquote body caption center dd details dir div dl dt fieldset figcaption figure " +
		"footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li main menu nav ol p pre search section " +
		"summary table tbody td tfoot th thead tr ul",
);
/** What some highlighters make of every line of code. */
export const CODE_LINES = names("div p li tr");
