import { createHash } from "node:crypto";
import { deflateSync } from "node:zlib";

/** The content of one page. Without any, the page is empty. */
export interface PageContent {
	/** Lines of text from the top of the page; every character must be in Latin-1. */
	lines?: readonly string[];
	/** Lines of a second column, right of `lines`. */
	rightColumn?: readonly string[];
	/** Place every word by itself, as word processors do; else a line is one piece of text. */
	placeWords?: boolean;
	/** Write the lines in the font of {@link PdfOptions.toUnicode}. */
	mapped?: boolean;
	/** Content in the language of PDF itself, after everything else. */
	operators?: string;
	/** A grey picture over most of the page. */
	image?: boolean;
	/** Annotations of the page, as dictionaries in the language of PDF. */
	annotations?: readonly string[];
	/** The page's own size in points. Default 612 × 792. */
	size?: readonly [width: number, height: number];
}

export interface PdfOptions {
	pages: readonly PageContent[];
	title?: string;
	/** Deflate the content streams, as real documents have them. Default false: readable with an editor. */
	compress?: boolean;
	/** A second font's map from character codes to Unicode; an empty text leaves the code out. */
	toUnicode?: (code: number) => string;
	/** Headings of the outline, with the number of their page. */
	outline?: readonly (readonly [title: string, page: number])[];
	/** More entries of the pages' resources, in the language of PDF. */
	resources?: string;
	/** Encrypt with 40-bit RC4. An empty user password opens without asking. */
	userPassword?: string;
}

/**
 * A valid PDF: Helvetica, not embedded, WinAnsi encoding; a page tree of 32 children per node; an ordinary
 * cross-reference table. 2,000 pages take about a tenth of a second.
 */
export function makePdf(options: PdfOptions): Buffer {
	const file = createFile(options.userPassword);
	const catalog = file.reserve();
	const plainFont = file.add(
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
	);
	const fonts = [`/F1 ${plainFont} 0 R`];
	if (options.toUnicode) {
		const map = file.add("", Buffer.from(characterMap(options.toUnicode), "latin1"));
		const font = file.add(
			`<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding /ToUnicode ${map} 0 R >>`,
		);
		fonts.push(`/F2 ${font} 0 R`);
	}
	const image = file.add(
		"/Type /XObject /Subtype /Image /Width 8 /Height 8 /ColorSpace /DeviceGray /BitsPerComponent 8",
		Buffer.alloc(64, 0x99),
	);
	const resources = file.add(
		`<< /Font << ${fonts.join(" ")} >> /XObject << /Im1 ${image} 0 R >> ${options.resources ?? ""} >>`,
	);

	const pages = options.pages.map((page): TreeNode => ({ id: file.reserve(), pages: 1, page }));
	const root = growTree(pages, file.reserve);
	const write = (node: TreeNode, parent: number | undefined) => {
		const up = parent === undefined ? "" : `/Parent ${parent} 0 R`;
		if (node.children) {
			const kids = node.children.map(({ id }) => `${id} 0 R`).join(" ");
			file.put(node.id, `<< /Type /Pages ${up} /Kids [${kids}] /Count ${node.pages} >>`);
			for (const child of node.children) write(child, node.id);
		} else if (node.page) {
			const content = Buffer.from(contentOf(node.page), "latin1");
			const stream =
				content.length === 0
					? ""
					: `/Contents ${
							options.compress
								? file.add("/Filter /FlateDecode", deflateSync(content))
								: file.add("", content)
						} 0 R`;
			const [width, height] = node.page.size ?? DEFAULT_SIZE;
			file.put(
				node.id,
				`<< /Type /Page ${up} /MediaBox [0 0 ${width} ${height}] /Resources ${resources} 0 R ${stream} ${annotationsOf(node.page)} >>`,
			);
		}
	};
	write(root, undefined);
	const outline = outlineOf(options.outline ?? [], pages, file);
	file.put(catalog, `<< /Type /Catalog /Pages ${root.id} 0 R ${outline} >>`);
	return file.finish(catalog, options.title);
}

function annotationsOf({ annotations = [] }: PageContent): string {
	return annotations.length === 0 ? "" : `/Annots [${annotations.join(" ")}]`;
}

function outlineOf(
	entries: readonly (readonly [string, number])[],
	pages: readonly TreeNode[],
	file: ReturnType<typeof createFile>,
): string {
	if (entries.length === 0) return "";
	const root = file.reserve();
	const ids = entries.map(() => file.reserve());
	for (const [i, [title, page]] of entries.entries()) {
		const next = i + 1 < ids.length ? `/Next ${ids[i + 1]} 0 R` : "";
		const before = i > 0 ? `/Prev ${ids[i - 1]} 0 R` : "";
		file.put(
			ids[i] as number,
			`<< /Title ${literal(title)} /Parent ${root} 0 R /Dest [${pages[page - 1]?.id} 0 R /Fit] ${next} ${before} >>`,
		);
	}
	file.put(
		root,
		`<< /Type /Outlines /First ${ids[0]} 0 R /Last ${ids.at(-1)} 0 R /Count ${ids.length} >>`,
	);
	return `/Outlines ${root} 0 R`;
}

/** The same document with a cross-reference table that points nowhere: readers have to find the objects themselves. */
export function withBrokenXref(pdf: Buffer): Buffer {
	const text = pdf.toString("latin1");
	const table = text.lastIndexOf("\nxref\n");
	const trailer = text.indexOf("trailer", table);
	const broken = text
		.slice(table, trailer)
		.replace(/^\d{10}(?= \d{5} n)/gm, (offset) => String(Number(offset) + 7).padStart(10, "0"));
	return Buffer.from(text.slice(0, table) + broken + text.slice(trailer), "latin1");
}

const DEFAULT_SIZE = [612, 792] as const;

function contentOf(page: PageContent): string {
	const { lines = [], rightColumn = [], placeWords, mapped, image, operators = "" } = page;
	const [width, height] = page.size ?? DEFAULT_SIZE;
	const margin = 56;
	// Whatever the number of lines, they fit on the page.
	const leading = Math.min(14, (height - 2 * margin) / Math.max(lines.length, rightColumn.length));
	const size = leading * 0.75;
	const column = (texts: readonly string[], x: number) =>
		texts.length === 0
			? ""
			: [
					`BT /${mapped ? "F2" : "F1"} ${decimal(size)} Tf ${decimal(leading)} TL`,
					`${decimal(x)} ${decimal(height - margin)} Td`,
					...texts.map((text, line) =>
						placeWords
							? placedWords(text, { x, y: height - margin - line * leading, size })
							: `${literal(text)} Tj T*`,
					),
					"ET\n",
				].join("\n");
	const picture = image ? `q ${width - 40} 0 0 ${height - 40} 20 20 cm /Im1 Do Q\n` : "";
	return picture + column(lines, margin) + column(rightColumn, width / 2 + 10) + operators;
}

function placedWords(text: string, { x, y, size }: { x: number; y: number; size: number }): string {
	let left = x;
	const operators = text.split(" ").map((word) => {
		const operator = `1 0 0 1 ${left.toFixed(2)} ${y.toFixed(2)} Tm ${literal(word)} Tj`;
		for (const character of `${word} `) left += (widthOf(character) * size) / 1000;
		return operator;
	});
	return operators.join("\n");
}

/** Widths of Helvetica's characters from the space to "~", in thousandths of the font size. */
const WIDTHS = [
	278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
	556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
	611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
	667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
	222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

function widthOf(character: string): number {
	return WIDTHS[character.charCodeAt(0) - 32] ?? 556;
}

function decimal(value: number): string {
	return value.toFixed(5);
}

function literal(text: string): string {
	return `(${text.replace(/[\\()]/g, "\\$&").replace(/\r/g, "\\r")})`;
}

function characterMap(toUnicode: (code: number) => string): string {
	const codes = Array.from({ length: 256 }, (_, code) => code).filter((code) => toUnicode(code));
	const hex = (bytes: Uint8Array) => `<${Buffer.from(bytes).toString("hex")}>`;
	const entries = codes.map((code) => {
		const target = Buffer.from(toUnicode(code), "utf16le").swap16();
		return `${hex(Uint8Array.of(code))} ${hex(target)}`;
	});
	// The format allows 100 entries a block.
	const blocks: string[] = [];
	for (let start = 0; start < entries.length; start += 100) {
		const block = entries.slice(start, start + 100);
		blocks.push(`${block.length} beginbfchar\n${block.join("\n")}\nendbfchar`);
	}
	return [
		"/CIDInit /ProcSet findresource begin 12 dict begin begincmap",
		"/CMapName /Adobe-Identity-UCS def /CMapType 2 def",
		"1 begincodespacerange <00> <ff> endcodespacerange",
		...blocks,
		"endcmap CMapName currentdict /CMap defineresource pop end end",
	].join("\n");
}

interface TreeNode {
	id: number;
	/** Pages at and below this node. */
	pages: number;
	children?: TreeNode[];
	page?: PageContent;
}

/** Puts nodes over the pages, 32 children each, up to a single root. */
function growTree(level: TreeNode[], reserve: () => number): TreeNode {
	const parents: TreeNode[] = [];
	for (let start = 0; start < Math.max(level.length, 1); start += 32) {
		const children = level.slice(start, start + 32);
		const pages = children.reduce((sum, child) => sum + child.pages, 0);
		parents.push({ id: reserve(), pages, children });
	}
	return parents.length === 1 ? (parents[0] as TreeNode) : growTree(parents, reserve);
}

/** Collects numbered objects and writes them with a cross-reference table. */
function createFile(userPassword: string | undefined) {
	const bodies: Buffer[] = [Buffer.alloc(0)]; // object 0 is not used
	const lock = userPassword === undefined ? undefined : createLock(userPassword);

	const reserve = () => bodies.push(Buffer.alloc(0)) - 1;
	/** Writes an object; with a stream, `dictionary` holds the entries of the stream's dictionary besides its length. */
	const put = (id: number, dictionary: string, stream?: Buffer) => {
		const data = stream && (lock?.encrypt(id, stream) ?? stream);
		bodies[id] = data
			? Buffer.concat([
					Buffer.from(`<< ${dictionary} /Length ${data.length} >>\nstream\n`, "latin1"),
					data,
					Buffer.from("\nendstream"),
				])
			: Buffer.from(dictionary, "latin1");
	};
	const add = (dictionary: string, stream?: Buffer): number => {
		const id = reserve();
		put(id, dictionary, stream);
		return id;
	};

	const finish = (catalog: number, title: string | undefined): Buffer => {
		const trailer = [`/Root ${catalog} 0 R`];
		if (title !== undefined) {
			const id = reserve();
			const text = Buffer.from(`\ufeff${title}`, "utf16le").swap16();
			put(id, `<< /Title <${(lock?.encrypt(id, text) ?? text).toString("hex")}> >>`);
			trailer.push(`/Info ${id} 0 R`);
		}
		if (lock)
			trailer.push(`/Encrypt ${add(lock.dictionary)} 0 R`, `/ID [<${FILE_ID}> <${FILE_ID}>]`);

		const parts: Buffer[] = [Buffer.from("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", "latin1")];
		let offset = (parts[0] as Buffer).length;
		const rows = ["0000000000 65535 f \n"];
		bodies.forEach((body, id) => {
			if (id === 0) return;
			const part = Buffer.concat([Buffer.from(`${id} 0 obj\n`), body, Buffer.from("\nendobj\n")]);
			rows.push(`${String(offset).padStart(10, "0")} 00000 n \n`);
			offset += part.length;
			parts.push(part);
		});
		parts.push(
			Buffer.from(
				`xref\n0 ${bodies.length}\n${rows.join("")}` +
					`trailer\n<< /Size ${bodies.length} ${trailer.join(" ")} >>\nstartxref\n${offset}\n%%EOF\n`,
			),
		);
		return Buffer.concat(parts);
	};
	return { reserve, put, add, finish };
}

const FILE_ID = "00112233445566778899aabbccddeeff";
const PADDING = Buffer.from(
	"28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a",
	"hex",
);

/** The standard security handler, revision 2: PDF 1.4 reference, section 3.5. */
function createLock(userPassword: string) {
	const padded = (password: string) =>
		Buffer.concat([Buffer.from(password, "latin1"), PADDING]).subarray(0, 32);
	const permissions = Buffer.alloc(4);
	permissions.writeInt32LE(-4);
	const owner = rc4(md5(padded("owner")).subarray(0, 5), padded(userPassword));
	const id = Buffer.from(FILE_ID, "hex");
	const key = md5(padded(userPassword), owner, permissions, id).subarray(0, 5);
	const user = rc4(key, PADDING);
	return {
		dictionary: `<< /Filter /Standard /V 1 /R 2 /O <${owner.toString("hex")}> /U <${user.toString("hex")}> /P -4 >>`,
		encrypt: (object: number, data: Buffer): Buffer => {
			const number = Buffer.from([object & 255, (object >> 8) & 255, (object >> 16) & 255, 0, 0]);
			return rc4(md5(key, number).subarray(0, 10), data);
		},
	};
}

function md5(...parts: Buffer[]): Buffer {
	const hash = createHash("md5");
	for (const part of parts) hash.update(part);
	return hash.digest();
}

/** OpenSSL 3 no longer has it. */
function rc4(key: Buffer, data: Buffer): Buffer {
	const state = Uint8Array.from({ length: 256 }, (_, i) => i);
	const at = (index: number) => state[index & 255] as number;
	const swap = (a: number, b: number) => {
		[state[a], state[b]] = [at(b), at(a)];
	};
	for (let i = 0, j = 0; i < 256; i++) {
		j = (j + at(i) + (key[i % key.length] as number)) & 255;
		swap(i, j);
	}
	let i = 0;
	let j = 0;
	return data.map((byte) => {
		i = (i + 1) & 255;
		j = (j + at(i)) & 255;
		swap(i, j);
		return byte ^ at(at(i) + at(j));
	}) as Buffer;
}
