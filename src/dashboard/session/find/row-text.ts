import { callSummary, editsOf } from "../call-summary.ts";
import type { ToolCall } from "../items.ts";
import type { Row } from "../rows.ts";

/** All words of a row, those included that show only when it is unfolded. */
export function rowText(row: Row): string {
	if (row.kind === "outcome") return row.item.error ?? "";
	if (row.kind === "block") {
		const { block } = row;
		if (block.kind === "call") return callText(block.call);
		return block.kind === "text" ? markdownText(block.text) : block.text;
	}
	const { item } = row;
	switch (item.kind) {
		case "bash":
			return `${item.command ?? ""}\n${item.output}`;
		case "custom":
			return `${item.label}\n${item.text}`;
		default:
			return item.text;
	}
}

/** What stays the same as long as the row's words do, and may serve as a key for what was made of them. */
export function rowSource(row: Row): object {
	return row.kind === "block" ? row.block : row.item;
}

/** As it is written, and as it reads once its marks have become bold words and code. */
function markdownText(source: string): string {
	const read = source.replaceAll(/[*_`]+/g, "");
	return read.length === source.length ? source : `${source}\n${read}`;
}

function callText(call: ToolCall): string {
	const edits = editsOf(call.args).flatMap(({ oldText, newText }) => [oldText, newText]);
	const args = call.args === undefined ? call.argsText : (JSON.stringify(call.args) ?? "");
	// Paths and commands read as they are in the summary, edits as they are shown; JSON writes some letters otherwise.
	return [call.name, callSummary(call), args, ...edits, call.output].join("\n");
}
