/** An element whose end has not come yet. */
export interface OpenElement<T> {
	readonly name: string;
	readonly value: T;
	/** The places in the stack of the nearest table, row, cell and list item around it, itself included; -1 if none. */
	readonly table: number;
	readonly row: number;
	readonly cell: number;
	readonly item: number;
}

/**
 * The elements of a document that are open at a place in it, with the rules of HTML for what ends what.
 *
 * Every question is answered without walking the stack, and closing an element costs no more than opening it
 * did: a document of a million unclosed elements takes a million steps.
 */
export class OpenElements<T> {
	readonly #stack: OpenElement<T>[] = [];
	/** Where in the stack the elements of each name are. */
	readonly #places = new Map<string, number[]>();
	readonly #onClose: (element: OpenElement<T>, place: number) => void;

	/** `onClose` hears of every element once, innermost first, however it ends. */
	constructor(onClose: (element: OpenElement<T>, place: number) => void) {
		this.#onClose = onClose;
	}

	get length(): number {
		return this.#stack.length;
	}

	/** The innermost elements, counted outwards from 0. */
	fromTop(distance: number): OpenElement<T> | undefined {
		return this.#stack[this.#stack.length - 1 - distance];
	}

	isOpen(name: string): boolean {
		return (this.#places.get(name)?.length ?? 0) > 0;
	}

	push(name: string, value: T): void {
		const place = this.#stack.length;
		const around = this.#stack[place - 1];
		const isTable = name === "table";
		const isCell = CELLS.has(name);
		const endsItems = isTable || isCell || LISTS.has(name);
		this.#stack.push({
			name,
			value,
			table: isTable ? place : (around?.table ?? -1),
			row: name === "tr" ? place : isTable ? -1 : (around?.row ?? -1),
			cell: isCell ? place : isTable ? -1 : (around?.cell ?? -1),
			item: ITEMS.has(name) ? place : endsItems ? -1 : (around?.item ?? -1),
		});
		const places = this.#places.get(name);
		if (places) places.push(place);
		else this.#places.set(name, [place]);
	}

	/** Closes the innermost element of this name and all inside it, unless it is out of the tag's reach. */
	close(name: string): void {
		const place = this.#places.get(name)?.at(-1) ?? -1;
		if (place > this.#reach(name)) this.closeDownTo(place);
	}

	/** Closes what a start tag ends without saying so: an item the item before, a cell the cell, a row the row. */
	endImplied(name: string): void {
		const top = this.#stack.at(-1);
		if (!top) return;
		let place = -1;
		if (ITEMS.has(name)) place = top.item;
		else if (CELLS.has(name)) place = top.cell;
		else if (name === "tr" || ROW_GROUPS.has(name)) place = top.row;
		if (place !== -1) this.closeDownTo(place);
	}

	/** Closes elements, innermost first, until so many are left. */
	closeDownTo(count: number): void {
		while (this.#stack.length > count) {
			const element = this.#stack.pop() as OpenElement<T>;
			this.#places.get(element.name)?.pop();
			this.#onClose(element, this.#stack.length);
		}
	}

	/** A close tag reaches elements above this place only: a stray `</div>` in a cell does not end the table. */
	#reach(name: string): number {
		const top = this.#stack.at(-1);
		if (!top || name === "table") return -1;
		const isTablePart = CELLS.has(name) || name === "tr" || ROW_GROUPS.has(name);
		return isTablePart ? top.table : Math.max(top.cell, top.table);
	}
}

const LISTS = new Set(["ul", "ol", "dl", "menu", "dir"]);
const ITEMS = new Set(["li", "dt", "dd"]);
const CELLS = new Set(["td", "th"]);
const ROW_GROUPS = new Set(["thead", "tbody", "tfoot"]);
