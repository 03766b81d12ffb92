import { visitXml } from "./xml.ts";

/** What a style of a Word document says about its text. */
export interface Style {
	/** 0 for text. */
	readonly heading: number;
	readonly isCode: boolean;
	/** The number of its list, and the level in it. */
	readonly list?: string | undefined;
	readonly level?: number | undefined;
}

interface OwnStyle {
	heading?: number;
	isCode?: boolean;
	level?: number;
	list?: string;
	base?: string;
}

/** The styles by their id. A style has what it does not say itself from the one that it is based on. */
export function stylesOf(xml: string): Map<string, Style> {
	const own = new Map<string, OwnStyle>();
	let style: OwnStyle = {};
	let isDefault = false;
	visitXml(xml, {
		open(name, attribute) {
			const value = attribute("w:val");
			if (name === "style") {
				const id = attribute("w:styleid");
				const heading = HEADINGS.get(id);
				style = heading === undefined ? {} : { heading };
				isDefault = isOn(attribute("w:default") || "0");
				own.set(id, style);
			} else if (name === "name") {
				// Ids are in the language of the program, the names of built-in styles are not.
				const heading = HEADINGS.get(value.replace(/^heading /i, "Heading"));
				if (heading !== undefined) style.heading ??= heading;
			} else if (name === "basedon") style.base = value;
			else if (name === "ilvl") style.level = levelOf(value);
			else if (name === "numid") style.list = value;
			else if (name === "outlinelvl") {
				const level = Number(value);
				style.heading = level >= 0 && level < 6 ? level + 1 : 0;
			} else if (name === "rfonts" && attribute("w:ascii") !== "") {
				// A document that is all in such a font, like a screenplay, is no code.
				style.isCode = !isDefault && isCodeFont(attribute("w:ascii"));
			}
		},
	});
	const styles = new Map<string, Style>();
	for (const [id, heading] of HEADINGS) styles.set(id, { heading, isCode: false });
	for (const name of [...own.keys(), ...CODE_STYLES]) {
		let { base, ...found } = own.get(name) ?? {};
		for (let depth = 0; base !== undefined && depth < MAX_BASES; depth++) {
			const { base: next, ...inherited }: OwnStyle = own.get(base) ?? {};
			found = { ...inherited, ...found };
			base = next;
		}
		const { heading = 0, isCode = CODE_STYLES.has(name), ...place } = found;
		styles.set(name, { heading, isCode: isCode && heading === 0, ...place });
	}
	return styles;
}

/** Styles that a style may be based on, one on the other; they may form a circle. */
const MAX_BASES = 20;

const HEADINGS: ReadonlyMap<string, number> = new Map([
	["Title", 1],
	["Subtitle", 2],
	...[1, 2, 3, 4, 5, 6].map((level) => [`Heading${level}`, level] as const),
]);

/** Word's own and pandoc's styles of code, whose font may come from a theme. */
const CODE_STYLES: ReadonlySet<string> = new Set(["HTMLPreformatted", "SourceCode"]);

export function isCodeFont(name: string): boolean {
	return /courier|consolas|mono|menlo|monaco|lucida console|fira code|source code/i.test(name);
}

/** Properties without a value are on. */
export function isOn(value: string): boolean {
	return value !== "0" && value !== "false";
}

/** Lists of Word have nine levels. */
export function levelOf(value: string): number {
	return Math.min(8, Math.max(0, Math.trunc(Number(value)) || 0));
}

interface ListLevel {
	/** `decimal`, `lowerLetter`, `bullet`, `none`, … */
	format: string;
	start: number;
	/** The mark, with the numbers of this level and those above as `%1`, `%2`, … */
	text: string;
}

/** The levels of a list. Lists with the same `counter` are numbered on. */
interface WordList {
	readonly levels: ReadonlyMap<number, ListLevel>;
	readonly counter: string;
}

/** The lists by their number. */
export function listLevels(xml: string): Map<string, WordList> {
	const shapes = new Map<string, Map<number, ListLevel>>();
	const lists = new Map<string, WordList>();
	let levels = new Map<number, ListLevel>();
	let level: ListLevel = { format: "bullet", start: 1, text: "" };
	let [number, overridden] = ["", 0];
	visitXml(xml, {
		open(name, attribute) {
			const value = attribute("w:val");
			if (name === "abstractnum") {
				levels = new Map();
				shapes.set(attribute("w:abstractnumid"), levels);
			} else if (name === "num") number = attribute("w:numid");
			else if (name === "abstractnumid") {
				levels = new Map(shapes.get(value));
				lists.set(number, { levels, counter: `shape ${value}` });
			} else if (name === "lvloverride") overridden = levelOf(attribute("w:ilvl"));
			else if (name === "startoverride") {
				const shape = levels.get(overridden) ?? { format: "bullet", text: "" };
				levels.set(overridden, { ...shape, start: Number(value) || 0 });
				lists.set(number, { levels, counter: `list ${number}` });
			} else if (name === "lvl") {
				level = { format: "bullet", start: 1, text: "" };
				levels.set(levelOf(attribute("w:ilvl")), level);
			} else if (name === "numfmt") level.format = value;
			else if (name === "lvltext") level.text = value;
			else if (name === "start") level.start = Number(value) || 0;
		},
	});
	return lists;
}

interface ListItem {
	/** Its number in the list; `undefined` without one. */
	readonly number: number | undefined;
	/** Its number as the document shows it, as `2.1`. */
	readonly label: string;
	/** True for a further paragraph of the item before, which has no mark. */
	readonly isUnmarked: boolean;
}

/** Counts the items of the lists of a text. */
export class ListNumbers {
	readonly #lists: ReadonlyMap<string, WordList>;
	readonly #counts = new Map<string, (number | undefined)[]>();

	constructor(lists: ReadonlyMap<string, WordList>) {
		this.#lists = lists;
	}

	/** The next item of a list on this level. */
	next(id: string, level: number): ListItem {
		const list = this.#lists.get(id);
		const shape = list?.levels.get(level);
		if (!list || !shape) return { number: undefined, label: "", isUnmarked: false };
		const { format, text } = shape;
		if (format === "bullet" || format === "none")
			return { number: undefined, label: "", isUnmarked: /^\s+$/.test(text) || format === "none" };
		const counts = this.#counts.get(list.counter) ?? [];
		this.#counts.set(list.counter, counts);
		counts.length = level + 1;
		const before = counts[level];
		const number = before === undefined ? shape.start : before + 1;
		counts[level] = number;
		const label = text.slice(0, MAX_LABEL).replace(/%(\d)/g, (_, digit) => {
			const above = Number(digit) - 1;
			const { format = "decimal", start = 1 } = list.levels.get(above) ?? {};
			return numeral(counts[above] ?? start, format);
		});
		return { number, label, isUnmarked: false };
	}
}

const MAX_LABEL = 50;

function numeral(number: number, format: string): string {
	const isUpper = format.startsWith("upper");
	let text = String(number);
	if (/Letter$/.test(format) && number > 0) {
		const letter = String.fromCharCode(97 + ((number - 1) % 26));
		text = letter.repeat(Math.min(10, Math.ceil(number / 26)));
	} else if (/Roman$/.test(format) && number > 0 && number < 4000) text = roman(number);
	return isUpper ? text.toUpperCase() : text;
}

function roman(number: number): string {
	let [text, rest] = ["", number];
	for (const [sign, value] of ROMAN) {
		text += sign.repeat(Math.floor(rest / value));
		rest %= value;
	}
	return text;
}

const ROMAN: readonly (readonly [string, number])[] = [
	...([
		["m", 1000],
		["cm", 900],
		["d", 500],
		["cd", 400],
		["c", 100],
		["xc", 90],
	] as const),
	...([
		["l", 50],
		["xl", 40],
		["x", 10],
		["ix", 9],
		["v", 5],
		["iv", 4],
		["i", 1],
	] as const),
];
