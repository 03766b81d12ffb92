export const names = (list: string): ReadonlySet<string> => new Set(list.split(" "));

export const VOID = names("area base br col embed hr img input link meta param source track wbr");
/** Most pages omit their end tags. */
export const RARELY_CLOSED = names(
	"p li dt dd tr td th thead tbody tfoot option optgroup html head body",
);
export const INLINE_CODE = names("code tt kbd samp");
export const HEADINGS = names("h1 h2 h3 h4 h5 h6");
export const ANY_HEADING = [...HEADINGS].join(", ");
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
/** Of highlighters that number the lines of code. */
export const LINE_NUMBER_CLASSES = names(
	"gutter rouge-gutter lineno linenos linenodiv blob-num hljs-ln-numbers",
);
/** Roles of parts around the main text. */
export const SURROUNDINGS = names("navigation contentinfo banner search dialog alertdialog");

/**
 * The stack of open elements, with HTML's rules for implied ends. No query walks the stack, and one
 * list per field spares the garbage collector: a million unclosed elements stay cheap.
 */
export class OpenElements<T> {
	readonly #names: string[] = [];
	readonly #values: T[] = [];
	/** Index of the nearest table, row, cell and item per element, itself included; -1 for none. */
	readonly #tables: number[] = [];
	readonly #rows: number[] = [];
	readonly #cells: number[] = [];
	readonly #items: number[] = [];
	readonly #places = new Map<string, number[]>();
	readonly #onClose: (name: string, value: T, place: number) => void;

	/** `onClose` runs once per element, innermost first, however it ends. */
	constructor(onClose: (name: string, value: T, place: number) => void) {
		this.#onClose = onClose;
	}

	get length(): number {
		return this.#names.length;
	}

	get innermost(): string | undefined {
		return this.#names.at(-1);
	}

	/** Innermost first. */
	innermostValues(count: number): T[] {
		return this.#values.slice(-count).reverse();
	}

	isOpen(name: string): boolean {
		return (this.#places.get(name)?.length ?? 0) > 0;
	}

	push(name: string, value: T): void {
		const place = this.#names.length;
		const kind = KINDS.get(name);
		const isTable = kind === "table";
		const endsItems = isTable || kind === "cell" || kind === "list";
		this.#names.push(name);
		this.#values.push(value);
		this.#tables.push(isTable ? place : (this.#tables.at(-1) ?? -1));
		this.#rows.push(kind === "row" ? place : isTable ? -1 : (this.#rows.at(-1) ?? -1));
		this.#cells.push(kind === "cell" ? place : isTable ? -1 : (this.#cells.at(-1) ?? -1));
		this.#items.push(kind === "item" ? place : endsItems ? -1 : (this.#items.at(-1) ?? -1));
		const places = this.#places.get(name);
		if (places) places.push(place);
		else this.#places.set(name, [place]);
	}

	/** Also closes everything inside; no effect on an element out of the tag's reach. */
	close(name: string): void {
		const place = this.#places.get(name)?.at(-1) ?? -1;
		if (place > this.#reach(name)) this.closeDownTo(place);
	}

	/** An item ends the item before it, a cell the cell, a row the row. */
	endImplied(name: string): void {
		const kind = KINDS.get(name);
		let place: number | undefined;
		if (kind === "item") place = this.#items.at(-1);
		else if (kind === "cell") place = this.#cells.at(-1);
		else if (kind === "row" || kind === "rows") place = this.#rows.at(-1);
		if (place !== undefined && place !== -1) this.closeDownTo(place);
	}

	closeDownTo(count: number): void {
		while (this.#names.length > count) {
			const name = this.#names.pop() as string;
			const value = this.#values.pop() as T;
			for (const places of [this.#tables, this.#rows, this.#cells, this.#items]) places.pop();
			this.#places.get(name)?.pop();
			this.#onClose(name, value, this.#names.length);
		}
	}

	/** Keeps a stray `</div>` in a cell from ending the table. */
	#reach(name: string): number {
		const kind = KINDS.get(name);
		if (kind === "table") return -1;
		const table = this.#tables.at(-1) ?? -1;
		return kind === "cell" || kind === "row" || kind === "rows"
			? table
			: Math.max(this.#cells.at(-1) ?? -1, table);
	}
}

type Kind = "table" | "rows" | "row" | "cell" | "list" | "item";

const NAMES: Record<Kind, string> = {
	table: "table",
	rows: "thead tbody tfoot",
	row: "tr",
	cell: "td th",
	list: "ul ol dl menu dir",
	item: "li dt dd",
};
const KINDS = new Map(
	Object.entries(NAMES).flatMap(([kind, list]) =>
		list.split(" ").map((name) => [name, kind as Kind] as const),
	),
);
