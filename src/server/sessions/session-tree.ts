import type { SessionEntry, SessionTreeNode } from "@earendil-works/pi-coding-agent";
import { property } from "../../core/property.ts";
import type { FlatTreeNode, SessionEntry as SentEntry, TreeNode } from "../../protocol/index.ts";
import { textOf } from "../../session/index.ts";
import { collapsed } from "../../text/one-line.ts";

/** No more nodes than this are sent; the latest are the ones that are left out. */
export const MAX_NODES = 10_000;
/** Parsers of JSON and pages that draw the tree give up on deep nesting. The flat form has no such limit. */
export const MAX_DEPTH = 1000;
const MAX_PREVIEW = 400;

/** A session's entries as a list, parents before their children. */
export function flatTree(
	entries: readonly SessionEntry[],
	labelOf: (id: string) => string | undefined,
): { nodes: FlatTreeNode[]; truncated: boolean } {
	const nodes = entries.slice(0, MAX_NODES).map((entry) => {
		const label = labelOf(entry.id);
		const role = entry.type === "message" ? entry.message.role : undefined;
		return {
			id: entry.id,
			parentId: entry.parentId,
			type: entry.type,
			...(role && { role }),
			preview: previewOf(entry),
			timestamp: entry.timestamp,
			...(label && { label }),
		};
	});
	return { nodes, truncated: entries.length > nodes.length };
}

/** The same nested, as pi's RPC has it. Built without recursion: a long conversation is a deep tree. */
export function nestedTree(roots: readonly SessionTreeNode[]): {
	tree: TreeNode[];
	truncated: boolean;
} {
	const tree: TreeNode[] = [];
	let count = 0;
	let truncated = false;
	/** Level by level, so that what is left out is what is furthest from the root. */
	let level = [{ from: roots, to: tree }];
	for (let depth = 0; level.length > 0; depth++) {
		const next: typeof level = [];
		for (const { from, to } of level) {
			for (const { entry, children, label } of from) {
				if (count === MAX_NODES || depth === MAX_DEPTH) {
					truncated = true;
					break;
				}
				count++;
				const node: TreeNode = {
					entry: entry as SentEntry,
					children: [],
					...(label && { label }),
				};
				to.push(node);
				if (children.length > 0) next.push({ from: children, to: node.children });
			}
		}
		level = next;
	}
	return { tree, truncated };
}

/** The beginning of what an entry says. */
export function previewOf(entry: SessionEntry): string {
	return collapsed(wordsOf(entry).slice(0, MAX_PREVIEW * 4)).slice(0, MAX_PREVIEW);
}

function wordsOf(entry: SessionEntry): string {
	switch (entry.type) {
		case "message":
			return contentWords(entry.message);
		case "compaction":
		case "branch_summary":
			return entry.summary;
		case "custom_message":
			return contentWords(entry);
		case "model_change":
			return `${entry.provider}/${entry.modelId}`;
		case "thinking_level_change":
			return entry.thinkingLevel;
		case "session_info":
			return entry.name ?? "";
		case "custom":
			return entry.customType;
		default:
			return "";
	}
}

function contentWords(message: unknown): string {
	const command = property(message, "command");
	if (typeof command === "string") return `$ ${command}`;
	const content = property(message, "content");
	const whole = textOf(content);
	if (whole !== undefined) return whole;
	if (!Array.isArray(content)) return "";
	return content.map(blockWords).filter(Boolean).join(" ");
}

function blockWords(block: unknown): string {
	const text = property(block, "text");
	if (typeof text === "string") return text;
	if (property(block, "type") === "toolCall") return `${property(block, "name")}(…)`;
	return property(block, "type") === "image" ? "[image]" : "";
}
