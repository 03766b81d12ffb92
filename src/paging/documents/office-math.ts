/** Reads one formula of an Office document and writes it as LaTeX. Takes time linear in its parts, at any nesting. */
export class OfficeMath {
	readonly #open: MathPart[] = [newPart("omath")];
	#inText = false;
	/** Elements that are open beyond the depth that is read; their text goes into the innermost part. */
	#deeper = 0;

	open(name: string, attribute: (name: string) => string): void {
		if (name === "t") this.#inText = true;
		else if (CHARACTERS.has(name)) this.#innermost.characters.set(name, attribute("m:val"));
		else if (this.#open.length > MAX_DEPTH) this.#deeper++;
		else this.#open.push(newPart(name));
	}

	text(text: string): void {
		if (this.#inText) append(this.#innermost, text.trim());
	}

	close(name: string): void {
		if (name === "t") this.#inText = false;
		else if (CHARACTERS.has(name)) return;
		else if (this.#deeper > 0) this.#deeper--;
		else if (this.#open.length > 1) this.#closeInnermost();
	}

	get latex(): string {
		while (this.#open.length > 1) this.#closeInnermost();
		return this.#innermost.latex;
	}

	get #innermost(): MathPart {
		return this.#open.at(-1) as MathPart;
	}

	#closeInnermost(): void {
		const part = this.#open.pop() as MathPart;
		const outer = this.#innermost;
		// Properties, such as `naryPr`, hold the characters of the element around them.
		for (const [name, value] of part.name.endsWith("pr") ? part.characters : [])
			outer.characters.set(name, value);
		const latex = latexOf(part);
		if (ARGUMENTS.has(part.name)) outer.slots.push({ name: part.name, latex });
		append(outer, latex);
	}
}

/** Deeper than any real formula; beyond, elements are read as rows. */
const MAX_DEPTH = 200;

interface MathPart {
	readonly name: string;
	/** All that is in it, as a row. */
	latex: string;
	readonly slots: { readonly name: string; readonly latex: string }[];
	readonly characters: Map<string, string>;
}

const newPart = (name: string): MathPart => ({
	...{ name, latex: "", slots: [] },
	characters: new Map(),
});

const CHARACTERS = new Set(["chr", "begchr", "endchr", "sepchr"]);
const ARGUMENTS = new Set(["e", "num", "den", "sub", "sup", "deg", "fname", "lim", "mr"]);

function append(part: MathPart, latex: string): void {
	if (latex !== "") part.latex += part.latex === "" ? latex : ` ${latex}`;
}

/** An unknown element is a row of what is in it. */
function latexOf({ name, latex, slots, characters }: MathPart): string {
	const all = (slot: string) => slots.filter((one) => one.name === slot).map((one) => one.latex);
	const one = (slot: string) => all(slot)[0] ?? "";
	const base = () => grouped(one("e"));
	const index = (mark: string, slot: string) => (one(slot) === "" ? "" : `${mark}{${one(slot)}}`);
	switch (name) {
		case "f":
			return `\\frac{${one("num")}}{${one("den")}}`;
		case "ssup":
		case "ssub":
		case "ssubsup":
			return base() + index("_", "sub") + index("^", "sup");
		case "spre":
			return `{}${index("_", "sub")}${index("^", "sup")}${base()}`;
		case "rad":
			return one("deg") === "" ? `\\sqrt{${one("e")}}` : `\\sqrt[${one("deg")}]{${one("e")}}`;
		case "nary": {
			const sign = characters.get("chr") ?? "∫";
			return `${OPERATORS.get(sign) ?? sign}${index("_", "sub")}${index("^", "sup")} ${one("e")}`;
		}
		case "d": {
			const sign = (key: string, usual: string) =>
				(characters.get(key) ?? usual).replace(/[{}]/, "\\$&");
			return sign("begchr", "(") + all("e").join(` ${sign("sepchr", "|")} `) + sign("endchr", ")");
		}
		case "mr":
			return all("e").join(" & ");
		case "m":
			return `\\begin{matrix} ${all("mr").join(" \\\\ ")} \\end{matrix}`;
		case "eqarr":
			return `\\begin{aligned} ${all("e").join(" \\\\ ")} \\end{aligned}`;
		case "func":
			return `${FUNCTION.test(one("fname")) ? "\\" : ""}${one("fname")} ${one("e")}`;
		case "limlow":
			return base() + index("_", "lim");
		case "limupp":
			return base() + index("^", "lim");
		case "acc": {
			const sign = ACCENTS.get(characters.get("chr") ?? "\u0302");
			return sign ? `\\${sign}{${one("e")}}` : `${one("e")}${characters.get("chr")}`;
		}
		case "bar":
			return `\\overline{${one("e")}}`;
		default:
			return latex;
	}
}

/** A base that takes an index or a power. */
function grouped(latex: string): string {
	return latex.length <= 2 && [...latex].length === 1 ? latex : `{${latex}}`;
}

const FUNCTION =
	/^(?:(?:arc)?(?:sin|cos|tan)h?|cot|sec|csc|log|ln|lg|exp|lim|min|max|sup|inf|det|dim|gcd|ker)\b/;

const OPERATORS: ReadonlyMap<string, string> = new Map([
	...([
		["∑", "\\sum"],
		["∏", "\\prod"],
		["∐", "\\coprod"],
		["∫", "\\int"],
		["∬", "\\iint"],
	] as const),
	...([
		["∭", "\\iiint"],
		["∮", "\\oint"],
		["⋃", "\\bigcup"],
		["⋂", "\\bigcap"],
	] as const),
]);

const ACCENTS: ReadonlyMap<string, string> = new Map([
	...([
		["\u0302", "hat"],
		["\u0303", "tilde"],
		["\u20d7", "vec"],
		["\u0304", "bar"],
	] as const),
	...([
		["\u0305", "bar"],
		["\u0307", "dot"],
		["\u0308", "ddot"],
		["\u030c", "check"],
	] as const),
]);
