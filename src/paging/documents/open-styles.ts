import { isCodeFont } from "./docx-styles.ts";
import { visitXml } from "./xml.ts";
import type { ZipArchive } from "./zip.ts";

/** What the styles of an OpenDocument say about its parts. */
export interface OpenStyles {
	/** The styles that hide what has them: a sheet, a slide, a text. */
	readonly hidden: ReadonlySet<string>;
	/** The levels of lists with numbers, by `<style>.<level>`: where they start; `undefined` without numbers. */
	readonly numbered: ReadonlyMap<string, number | undefined>;
	/** How the text of a style looks. */
	look(style: string): Look;
}

export interface Look {
	/** The elements of HTML around its text, from the outermost on. */
	readonly marks: readonly string[];
	readonly isCode: boolean;
	/** 1 for a title, 2 for a subtitle, else 0. */
	readonly heading: number;
}

interface OwnLook {
	readonly marks: Map<string, boolean>;
	isCode?: boolean;
	parent: string;
}

/** Reads the styles of a document, of which `xml` is the content. */
export async function openStyles(zip: ZipArchive, xml: string): Promise<OpenStyles> {
	const [hidden, numbered] = [new Set<string>(), new Map<string, number | undefined>()];
	const looks = new Map<string, OwnLook>();
	let style = "";
	const read = (part: string) =>
		visitXml(part, {
			open(name, attribute) {
				if (name === "style" || name === "list-style") {
					style = attribute("style:name");
					if (name === "style")
						looks.set(style, { marks: new Map(), parent: attribute("style:parent-style-name") });
				} else if (/^list-level-style-(?:number|bullet|image)$/.test(name)) {
					const start = Number(attribute("text:start-value") || 1) || 0;
					const level = `${style}.${attribute("text:level")}`;
					numbered.set(level, name.endsWith("number") ? start : undefined);
				} else if (
					attribute("table:display") === "false" ||
					attribute("presentation:visibility") === "hidden" ||
					attribute("text:display") === "none"
				)
					hidden.add(style);
				if (name === "text-properties") readLook(looks.get(style), attribute);
			},
		});
	const common = await zip.text("styles.xml");
	// Its other styles are those of headers and footers, with names of their own.
	const from = common.indexOf("<office:styles");
	if (from !== -1) read(common.slice(from, Math.max(from, common.indexOf("</office:styles"))));
	read(xml.slice(0, Math.max(0, xml.indexOf("<office:body"))));
	hidden.delete("");
	const found = new Map<string, Look>();
	return {
		hidden,
		numbered,
		look(name) {
			const known = found.get(name) ?? lookOf(name, looks);
			found.set(name, known);
			return known;
		},
	};
}

/** Styles that a style may be based on, one on the other; they may form a circle. */
const MAX_BASES = 20;

function lookOf(style: string, looks: ReadonlyMap<string, OwnLook>): Look {
	const marks = new Map<string, boolean>();
	let isCode: boolean | undefined;
	let heading = 0;
	for (let [name, depth] = [style, 0]; name !== "" && depth < MAX_BASES; depth++) {
		heading ||= name === "Title" ? 1 : name === "Subtitle" ? 2 : 0;
		const own = looks.get(name);
		for (const [mark, isOn] of own?.marks ?? []) if (!marks.has(mark)) marks.set(mark, isOn);
		isCode ??= own?.isCode;
		name = own?.parent ?? "";
	}
	const on = [...marks].flatMap(([mark, isOn]) => (isOn ? [mark] : []));
	return { marks: on, isCode: isCode === true && heading === 0, heading };
}

function readLook(look: OwnLook | undefined, attribute: (name: string) => string): void {
	if (!look) return;
	const set = (mark: string, value: string, on: RegExp) => {
		if (value !== "") look.marks.set(mark, on.test(value));
	};
	set("b", attribute("fo:font-weight"), /^(?:bold|[6-9]00)$/);
	set("i", attribute("fo:font-style"), /^(?:italic|oblique)$/);
	set("s", attribute("style:text-line-through-style"), /^(?!none)/);
	set("sup", attribute("style:text-position"), /^(?:super|[1-9])/);
	set("sub", attribute("style:text-position"), /^(?:sub|-)/);
	const font = attribute("style:font-name") || attribute("fo:font-family");
	if (font !== "") look.isCode = isCodeFont(font);
}
