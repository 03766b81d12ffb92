export const names = (list: string): ReadonlySet<string> => new Set(list.split(" "));

export const VOID = names("area base br col embed hr img input link meta param source track wbr");
/** Most pages omit their end tags. */
export const RARELY_CLOSED = names(
	"p li dt dd tr td th thead tbody tfoot option optgroup html head body",
);
export const INLINE_CODE = names("code tt kbd samp");
export const HEADINGS = names("h1 h2 h3 h4 h5 h6");
export const CONTAINERS = names("ul ol menu dir blockquote");
/** Blocks whose end does not matter. */
export const PARAGRAPHS = names(
	"p h1 h2 h3 h4 h5 h6 hr html head body caption summary figcaption legend",
);
/** Elements that end a paragraph. */
export const BLOCKS = names(
	"address article aside blockquote body caption center dd details dir div dl dt fieldset figcaption figure " +
		"footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li main menu nav ol p pre search section " +
		"summary table tbody td tfoot th thead tr ul",
);
/** Some highlighters wrap each line of code in one of these. */
export const CODE_LINES = names("div p li tr");
