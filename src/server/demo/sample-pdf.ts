/**
 * A plain PDF, a page for each list of lines: Helvetica, ASCII, one column. Enough for the sample project, where a binary
 * file would say less about itself.
 */
export function samplePdf(pages: readonly (readonly string[])[]): Buffer {
	const objects: string[] = [];
	const add = (body: string) => objects.push(body); // its number is the new length
	const font = add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>");
	const tree = objects.length + pages.length * 2 + 1;
	const kids = pages.map((lines) => {
		const text = pageText(lines);
		const content = add(`<< /Length ${text.length} >>\nstream\n${text}\nendstream`);
		const resources = `<< /Font << /F1 ${font} 0 R >> >>`;
		return add(
			`<< /Type /Page /Parent ${tree} 0 R /MediaBox [0 0 612 792] /Resources ${resources} /Contents ${content} 0 R >>`,
		);
	});
	const list = kids.map((kid) => `${kid} 0 R`).join(" ");
	add(`<< /Type /Pages /Count ${kids.length} /Kids [${list}] >>`);
	const catalog = add(`<< /Type /Catalog /Pages ${tree} 0 R >>`);
	return assembled(objects, catalog);
}

/** The objects one behind the other, and the table that says where each begins. */
function assembled(objects: readonly string[], root: number): Buffer {
	let file = "%PDF-1.4\n";
	const starts = objects.map((body, index) => {
		const start = file.length;
		file += `${index + 1} 0 obj\n${body}\nendobj\n`;
		return start;
	});
	const table = starts.map((start) => `${String(start).padStart(10, "0")} 00000 n \n`).join("");
	const size = objects.length + 1;
	file += `xref\n0 ${size}\n0000000000 65535 f \n${table}`;
	const at = file.lastIndexOf("xref\n0 ");
	file += `trailer\n<< /Size ${size} /Root ${root} 0 R >>\nstartxref\n${at}\n%%EOF\n`;
	return Buffer.from(file, "latin1");
}

function pageText(lines: readonly string[]): string {
	const shown = lines.map((line) => `(${line.replace(/[\\()]/g, "\\$&")}) Tj T*`).join("\n");
	return `BT\n/F1 11 Tf\n14 TL\n72 720 Td\n${shown}\nET`;
}
