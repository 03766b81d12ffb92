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
			if (source.trim() !== "") parts.push(source.trim());
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

function outputText(output: unknown): string {
	if (!isRecord(output)) return "";
	if (output.output_type === "error")
		return fenced(shortened(joined(output.traceback, "\n").replace(ANSI, "")), "");
	const data = isRecord(output.data) ? output.data : {};
	const texts = [output.text, data["text/markdown"], data["text/plain"], data["text/latex"]];
	const text = texts.map((value) => joined(value)).find((value) => value.trim() !== "") ?? "";
	const html = text === "" ? linearHtmlToMarkdown(joined(data["text/html"])).markdown : "";
	const image = Object.keys(data).find((type) => type.startsWith("image/"));
	const parts = [
		text === "" ? shortened(html) : fenced(shortened(text.replace(ANSI, "")), ""),
		image ? `[${image}]` : "",
	];
	return parts.filter((part) => part !== "").join("\n\n");
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours of a terminal
const ANSI = /\u001b\[[\d;]*m/g;

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
