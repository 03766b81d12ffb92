/** Returns `$…$`, or `$$…$$` on separate lines if `display` is set; an empty string for an empty formula. */
export function formulaMarkdown(latex: string, display: boolean): string {
	const inner = latex
		.trim()
		.replace(WRAPPER, "$1")
		.replace(/\s*\n\s*/g, " ")
		// LaTeX ignores the added space; without it, `<` might read as the start of a tag.
		.replace(/<(?=[A-Za-z/!?])/g, "< ")
		.trim();
	if (inner === "") return "";
	return display ? `$$\n${inner}\n$$` : `$${inner}$`;
}

const WRAPPER = /^\{\\(?:displaystyle|textstyle)\s([\s\S]*)\}$/;

/** Returns the LaTeX that Wikipedia and others put in the `alt` of a formula's image. */
export function imagedFormula(alt: string, className: string): string | undefined {
	if (WRAPPER.test(alt.trim())) return alt;
	return /\b(?:mwe-math|latex|tex)\b/.test(className) && /[\\^_{]/.test(alt) ? alt : undefined;
}

/** Reads one `<math>` element. Takes time linear in its parts, at any nesting. */
export class Formula {
	readonly display: boolean;
	#latex: string | undefined;
	readonly #open: MathElement[] = [{ name: "math", parts: [] }];
	readonly #openNames = new Map<string, number>();
	#annotation: { isLatex: boolean; text: string[] } | undefined;

	constructor(latex: string | undefined, display: boolean) {
		this.#latex = latex;
		this.display = display;
	}

	add(text: string): void {
		const trimmed = text.trim();
		if (this.#annotation) this.#annotation.text.push(trimmed);
		else if (trimmed !== "") this.#innermost.parts.push({ latex: trimmed, isSingle: true });
	}

	open(name: string): void {
		if (this.#annotation || this.#open.length > MAX_DEPTH) return;
		this.#open.push({ name, parts: [] });
		this.#openNames.set(name, (this.#openNames.get(name) ?? 0) + 1);
	}

	/** Also closes unclosed elements inside. */
	close(name: string): void {
		if (this.#annotation || !this.#openNames.get(name)) return;
		while (this.#closeInnermost() !== name);
	}

	startAnnotation(isLatex: boolean): void {
		this.#annotation = { isLatex, text: [] };
	}

	endAnnotation(): void {
		if (this.#annotation?.isLatex) this.#latex ??= this.#annotation.text.join(" ");
		this.#annotation = undefined;
	}

	get latex(): string {
		while (this.#open.length > 1) this.#closeInnermost();
		return this.#latex ?? inRow(this.#innermost.parts).latex;
	}

	get #innermost(): MathElement {
		return this.#open.at(-1) as MathElement;
	}

	#closeInnermost(): string {
		const { name, parts } = this.#open.pop() as MathElement;
		this.#openNames.set(name, (this.#openNames.get(name) ?? 0) - 1);
		this.#innermost.parts.push(toLatex(name, parts));
		return name;
	}
}

/** Maximum nesting: deeper than any real formula. Without it, a hostile formula would take seconds. */
const MAX_DEPTH = 500;

interface MathElement {
	readonly name: string;
	readonly parts: MathPart[];
}

interface MathPart {
	readonly latex: string;
	/** True if the part takes an index or a power without braces. */
	readonly isSingle: boolean;
}

/** Converts MathML to LaTeX. An unknown element, or a wrong number of parts, is treated as a row. */
function toLatex(name: string, parts: MathPart[]): MathPart {
	const [first, second, third] = parts;
	if (name === "msqrt") return compound(`\\sqrt{${inRow(parts).latex}}`);
	const takesThree = name === "msubsup" || name === "munderover";
	if (!first || !second || parts.length !== (takesThree ? 3 : 2)) return inRow(parts);
	const base = first.isSingle ? first.latex : `{${first.latex}}`;
	if (takesThree) return compound(`${base}_{${second.latex}}^{${third?.latex}}`);
	if (name === "mfrac") return compound(`\\frac{${first.latex}}{${second.latex}}`);
	if (name === "mroot") return compound(`\\sqrt[${second.latex}]{${first.latex}}`);
	if (name === "msub" || name === "munder") return compound(`${base}_{${second.latex}}`);
	if (name === "msup" || name === "mover") return compound(`${base}^{${second.latex}}`);
	return inRow(parts);
}

const compound = (latex: string): MathPart => ({ latex, isSingle: false });

function inRow(parts: MathPart[]): MathPart {
	const [only = { latex: "", isSingle: true }, ...others] = parts;
	if (others.length === 0) return only;
	// `join` would copy the text at each level of nesting.
	let latex = only.latex;
	for (const part of others)
		if (part.latex !== "") latex += latex === "" ? part.latex : ` ${part.latex}`;
	return compound(latex);
}
