import type { OpenStyles } from "./open-styles.ts";

interface List {
	readonly tag: "ol" | "ul";
	readonly style: string;
	/** The numbers reached on each level of the outermost list around it. */
	readonly counts: (number | undefined)[];
	readonly isContinued: boolean;
	/** Whether the current item has text; one that has only a list inside is not counted. */
	hasText: boolean;
}

/** Follows the lists of an OpenDocument text: which have numbers, and where they go on. */
export class OpenLists {
	readonly #styles: OpenStyles;
	readonly #open: List[] = [];
	readonly #byId = new Map<string, List["counts"]>();
	readonly #byStyle = new Map<string, List["counts"]>();

	constructor(styles: OpenStyles) {
		this.#styles = styles;
	}

	/** Returns the tag that begins the list. */
	open(attribute: (name: string) => string): string {
		const outer = this.#open.at(-1);
		// A list in a list has the style of the outer one, unless it names its own.
		const style = attribute("text:style-name") || (outer?.style ?? "");
		const before =
			this.#byId.get(attribute("text:continue-list")) ??
			(attribute("text:continue-numbering") === "true" ? this.#byStyle.get(style) : undefined);
		const isContinued = outer ? outer.isContinued && !outer.hasText : before !== undefined;
		const counts = outer?.counts ?? before ?? [];
		const depth = this.#open.length;
		if (!isContinued) counts.length = Math.min(counts.length, depth);
		if (!outer) {
			this.#byStyle.set(style, counts);
			this.#byId.set(attribute("xml:id") || attribute("text:id"), counts);
			this.#byId.delete("");
		}
		const tag = this.#startOf(style, depth) === undefined ? "ul" : "ol";
		this.#open.push({ tag, style, counts, isContinued, hasText: false });
		return `<${tag}>`;
	}

	/** Returns the tag that begins an item. */
	item(attribute: (name: string) => string): string {
		const list = this.#open.at(-1);
		if (!list) return "<li>";
		list.hasText = false;
		if (list.tag === "ul") return "<li>";
		const depth = this.#open.length - 1;
		const named = attribute("text:start-value");
		if (named !== "") list.counts[depth] = (Number(named) || 0) - 1;
		return `<li value="${this.#next(list, depth)}">`;
	}

	/** Text of an item follows. */
	text(): void {
		const list = this.#open.at(-1);
		if (!list || list.hasText) return;
		list.hasText = true;
		const depth = this.#open.length - 1;
		if (list.tag === "ol") list.counts[depth] = this.#next(list, depth);
	}

	/** Returns the tag that ends the list. */
	close(): string {
		return `</${this.#open.pop()?.tag ?? "ul"}>`;
	}

	get isOpen(): boolean {
		return this.#open.length > 0;
	}

	#next({ counts, style }: List, depth: number): number {
		const before = counts[depth];
		return before === undefined ? (this.#startOf(style, depth) ?? 1) : before + 1;
	}

	/** The first number of a level, counted from 0; `undefined` without numbers. */
	#startOf(style: string, depth: number): number | undefined {
		const { numbered } = this.#styles;
		const level = `${style}.${depth + 1}`;
		return numbered.get(numbered.has(level) ? level : `${style}.1`);
	}
}
