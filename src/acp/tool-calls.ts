import { resolve } from "node:path";
import type {
	ToolCallContent,
	ToolCallLocation,
	ToolCallStatus,
	ToolKind,
} from "@agentclientprotocol/sdk";
import { isRecord, property } from "../core/property.ts";
import { clip } from "../text/clip.ts";
import { collapsed, oneLine } from "../text/one-line.ts";
import { fenced } from "./fenced.ts";

const MAX_TITLE_BYTES = 200;
/** Editors show results; a model has its own copy. */
const MAX_SHOWN_BYTES = 64 * 1024;
const MAX_RAW_CHARACTERS = 16 * 1024;
const MAX_LOCATIONS = 20;

const KINDS: Readonly<Record<string, ToolKind>> = {
	read: "read",
	read_page: "fetch",
	strata_recall: "read",
	write: "edit",
	edit: "edit",
	bash: "execute",
	grep: "search",
	find: "search",
	ls: "search",
};

/** The argument that says most about a call, by the order in which it is looked for. */
const TELLING = [
	"command",
	"path",
	"file_path",
	"query",
	"pattern",
	"symbol",
	"uri",
	"files",
	"id",
];

export function kindOf(tool: string): ToolKind {
	return KINDS[tool] ?? (tool.startsWith("kota_") ? "search" : "other");
}

export function titleOf(tool: string, args: unknown): string {
	const telling = TELLING.map((name) => property(args, name)).find((value) => value !== undefined);
	const text = Array.isArray(telling) ? telling.join(" ") : String(telling ?? "");
	return clip(oneLine(collapsed(`${tool} ${text}`)), MAX_TITLE_BYTES);
}

/** What an editor needs to show a call before it has a result. */
export function startedCall(tool: string, args: unknown, cwd: string) {
	const diffs = diffsOf(tool, args, cwd);
	const locations = locationsOf(args, cwd);
	const isShort = (JSON.stringify(args)?.length ?? 0) <= MAX_RAW_CHARACTERS;
	return {
		title: titleOf(tool, args),
		kind: kindOf(tool),
		...(locations.length > 0 && { locations }),
		...(diffs.length > 0 && { content: diffs }),
		...(isShort && isRecord(args) && { rawInput: args }),
	};
}

/** The end of a call. A change that failed is not shown as a diff. */
export function endedCall(
	call: { tool: string; args: unknown; cwd: string },
	result: unknown,
	isError: boolean,
) {
	const status: ToolCallStatus = isError ? "failed" : "completed";
	const diffs = isError ? [] : diffsOf(call.tool, call.args, call.cwd);
	const content = diffs.length > 0 ? diffs : resultContent(result);
	return { status, content };
}

/** `result` is the content of a result, as pi has it: text and images. */
export function resultContent(result: unknown): ToolCallContent[] {
	const blocks = typeof result === "string" ? [{ type: "text", text: result }] : result;
	if (!Array.isArray(blocks)) return [];
	return blocks.flatMap((block): ToolCallContent[] => {
		const { type, text, data, mimeType } = isRecord(block) ? block : {};
		if (type === "text" && typeof text === "string" && text !== "") {
			const shown = fenced(clip(text, MAX_SHOWN_BYTES));
			return [{ type: "content", content: { type: "text", text: shown } }];
		}
		// The server drops the data of images that are too long for an event.
		if (type === "image" && typeof data === "string" && data !== "") {
			return [{ type: "content", content: { type, data, mimeType: String(mimeType) } }];
		}
		return [];
	});
}

function diffsOf(tool: string, args: unknown, cwd: string): ToolCallContent[] {
	const path = property(args, "path");
	if (typeof path !== "string") return [];
	const diff = (oldText: unknown, newText: unknown): ToolCallContent[] =>
		typeof newText === "string"
			? [
					{
						type: "diff",
						path: resolve(cwd, path),
						oldText: typeof oldText === "string" ? oldText : null,
						newText,
					},
				]
			: [];
	if (tool === "write") return diff(null, property(args, "content"));
	if (tool !== "edit") return [];
	const edits = property(args, "edits");
	const all = Array.isArray(edits) ? edits : [args];
	return all.flatMap((edit) => diff(property(edit, "oldText"), property(edit, "newText")));
}

function locationsOf(args: unknown, cwd: string): ToolCallLocation[] {
	const one = [property(args, "path"), property(args, "file_path"), property(args, "file")];
	const many = ["files", "files_to_modify", "files_to_create", "files_to_delete"].map((name) =>
		property(args, name),
	);
	const paths = [...one, ...many.flat()].filter(
		(path): path is string => typeof path === "string" && path !== "",
	);
	const offset = property(args, "offset");
	// ACP counts lines from 1, as pi does.
	const line = typeof offset === "number" && Number.isInteger(offset) && offset > 0 ? offset : null;
	return paths
		.filter((path) => !/^[a-z]{2,}:/i.test(path)) // web addresses and tokens of pages
		.slice(0, MAX_LOCATIONS)
		.map((path) => ({ path: resolve(cwd, path), ...(line !== null && { line }) }));
}
