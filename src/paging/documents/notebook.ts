import { isRecord } from "../../core/property.ts";
import { linearHtmlToMarkdown } from "../extract/linear-html.ts";

/** Longer outputs are cut: they are logs or data, and the cell can be run again. */
const MAX_OUTPUT = 10_000;

/** Writes the cells of a Jupyter notebook: Markdown as it is, code and text outputs in fences. Images are named only. */
export function notebookToMarkdown(text: string): string | undefined {
	let notebook: unknown;
	try {
		notebook = JSON.parse(text);
	} catch {
		return undefined; // not JSON: the caller shows it as it is
	}
	const cells = isRecord(notebook) ? cellsOf(notebook) : undefined;
	if (!isRecord(notebook) || !cells) return undefined;
	const language = languageOf(notebook);
	const parts: string[] = [];
	for (const cell of cells) {
		if (!isRecord(cell)) continue;
		const source = joined(cell.source ?? cell.input);
		if (cell.cell_type !== "code") {
			if (source.trim() !== "") parts.push(headingMark(cell) + source.trim());
			continue;
		}
		if (source.trim() !== "") parts.push(fenced(source, language));
		for (const output of Array.isArray(cell.outputs) ? cell.outputs : []) {
			const shown = outputText(output);
			if (shown !== "") parts.push(shown);
		}
	}
	return parts.join("\n\n");
}

/** Version 3 has its cells in worksheets. */
function cellsOf({ cells, worksheets }: Record<string, unknown>): unknown[] | undefined {
	if (Array.isArray(cells)) return cells;
	if (!Array.isArray(worksheets)) return undefined;
	return worksheets.flatMap((sheet) =>
		isRecord(sheet) && Array.isArray(sheet.cells) ? sheet.cells : [],
	);
}

function languageOf({ metadata }: Record<string, unknown>): string {
	if (!isRecord(metadata)) return "";
	const { language_info: info, kernelspec } = metadata;
	const name = isRecord(info) ? info.name : isRecord(kernelspec) ? kernelspec.language : "";
	return typeof name === "string" && /^[\w+#.-]{1,20}$/.test(name) ? name.toLowerCase() : "";
}

/** Version 3 has cells for headings. */
function headingMark({ cell_type: type, level }: Record<string, unknown>): string {
	if (type !== "heading") return "";
	return `${"#".repeat(Math.min(6, Math.max(1, Number(level) || 1)))} `;
}

function outputText(output: unknown): string {
	if (!isRecord(output)) return "";
	const { output_type: kind, ename, evalue } = output;
	if (kind === "error" || kind === "pyerr") {
		const traceback = shownInTerminal(joined(output.traceback, "\n"));
		const name = [ename, evalue].filter((part) => typeof part === "string").join(": ");
		return fenced(shortened(traceback.trim() === "" ? name : traceback), "");
	}
	const data = isRecord(output.data) ? output.data : {};
	const texts = [output.text, data["text/markdown"], data["text/plain"], data["text/latex"]];
	const text = texts.map((value) => joined(value)).find((value) => value.trim() !== "") ?? "";
	const html = shownHtml(joined(data["text/html"] ?? output.html), text);
	const shown = html === "" ? fencedUnlessBlank(shownInTerminal(text)) : shortened(html);
	const named = shown === "" || /^image\//.test(kindOf(data)) ? kindOf(data) : "";
	const image = V3_IMAGES.find((name) => typeof output[name] === "string");
	return [shown, named && `[${named}]`, image ? `[image/${image}]` : ""]
		.filter((part) => part !== "")
		.join("\n\n");
}

const V3_IMAGES = ["png", "jpeg", "svg"];

/** Objects that have only a name as text say more as HTML. */
function shownHtml(html: string, text: string): string {
	if (text.trim() !== "" && !/^<[\w.]+ object[^>]*>$/.test(text.trim())) return "";
	return linearHtmlToMarkdown(html).markdown;
}

/** A picture in an output, else what it is if it has no text: data for a widget, for example. */
function kindOf(data: Record<string, unknown>): string {
	const types = Object.keys(data).filter((type) => /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(type));
	return types.find((type) => type.startsWith("image/")) ?? types[0] ?? "";
}

/** Text as a terminal ends up showing it: without colours, and with the last state of a line that was written again and again. */
function shownInTerminal(text: string): string {
	const plain = text.replace(CONTROL_SEQUENCE, "");
	if (!plain.includes("\r")) return plain;
	return plain
		.split("\n")
		.map((line) => line.trimEnd().slice(line.trimEnd().lastIndexOf("\r") + 1))
		.join("\n");
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control sequences of a terminal
const CONTROL_SEQUENCE = /\u001b\[[\d;?]*[A-Za-z]/g;

function fencedUnlessBlank(text: string): string {
	return text.trim() === "" ? "" : fenced(shortened(text), "");
}

function shortened(text: string): string {
	return text.length > MAX_OUTPUT ? `${text.slice(0, MAX_OUTPUT).toWellFormed()}\n…` : text;
}

function fenced(text: string, language: string): string {
	let longest = 2;
	for (const [ticks] of text.matchAll(/`{3,}/g)) longest = Math.max(longest, ticks.length);
	const fence = "`".repeat(longest + 1);
	return `${fence}${language}\n${text.replace(/\n+$/, "")}\n${fence}`;
}

function joined(value: unknown, separator = ""): string {
	if (typeof value === "string") return value;
	return Array.isArray(value)
		? value.filter((part) => typeof part === "string").join(separator)
		: "";
}
