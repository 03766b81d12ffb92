import { collapsed } from "../../text/one-line.ts";

import type { ToolCall } from "./items.ts";

/** The most telling arguments first. */
const TELLING = [
	"path",
	"file_path",
	"command",
	"query",
	"pattern",
	"symbol",
	"file",
	"url",
	"name",
];
const MOST = 160;

/** A call in one line: its path, its command, or else its arguments. */
export function callSummary({ args, argsText }: Pick<ToolCall, "args" | "argsText">): string {
	if (typeof args !== "object" || args === null) return summary(argsText);
	const given = args as Record<string, unknown>;
	const name = TELLING.find((key) => typeof given[key] === "string" && given[key] !== "");
	if (name !== undefined) return summary(String(given[name]));
	const text = JSON.stringify(args);
	return text === "{}" ? "" : summary(text);
}

export interface Edit {
	oldText: string;
	newText: string;
}

/** The edits among a call's arguments. */
export function editsOf(args: unknown): Edit[] {
	const given = (typeof args === "object" && args !== null ? args : {}) as Record<string, unknown>;
	const list = Array.isArray(given.edits) ? given.edits : [given];
	return list.filter(
		(edit): edit is Edit => typeof edit?.oldText === "string" && typeof edit?.newText === "string",
	);
}

function summary(text: string): string {
	const line = collapsed(text.slice(0, MOST * 2));
	return line.length > MOST ? `${line.slice(0, MOST)}…` : line;
}
