/** A formula as markdown: `$…$` in the text, `$$…$$` on lines of its own. Empty if there is nothing in it. */
export function formulaMarkdown(latex: string, display: boolean): string {
	const inner = latex
		.trim()
		.replace(WRAPPER, "$1")
		.replace(/\s*\n\s*/g, " ")
		// A space means nothing to LaTeX, and without it this might be read as a tag.
		.replace(/<(?=[A-Za-z/!?])/g, "< ")
		.trim();
	if (inner === "") return "";
	return display ? `$$\n${inner}\n$$` : `$${inner}$`;
}

/** Wikipedia wraps every formula in a style of its own. */
const WRAPPER = /^\{\\(?:displaystyle|textstyle)\s([\s\S]*)\}$/;

/** The formula an image stands for, if it does: Wikipedia and some others put the LaTeX in its `alt`. */
export function imagedFormula(alt: string, className: string): string | undefined {
	if (WRAPPER.test(alt.trim())) return alt;
	return /\b(?:mwe-math|latex|tex)\b/.test(className) && /[\\^_{]/.test(alt) ? alt : undefined;
}

/** The parts of a `<math>` element while it is being read. */
export class Formula {
	readonly display: boolean;
	#latex: string | undefined;
	/** The visible signs, for formulae that come without LaTeX. */
	readonly #signs: string[] = [];
	#annotation: { isLatex: boolean; text: string[] } | undefined;

	constructor(latex: string | undefined, display: boolean) {
		this.#latex = latex;
		this.display = display;
	}

	add(text: string): void {
		(this.#annotation?.text ?? this.#signs).push(text.trim());
	}

	/** Text from here on is a note on the formula: one in LaTeX is what we are after, any other is dropped. */
	startAnnotation(isLatex: boolean): void {
		this.#annotation = { isLatex, text: [] };
	}

	endAnnotation(): void {
		if (this.#annotation?.isLatex) this.#latex ??= this.#annotation.text.join(" ");
		this.#annotation = undefined;
	}

	get latex(): string {
		return this.#latex ?? this.#signs.filter((sign) => sign !== "").join(" ");
	}
}
