import { property } from "../../core/property.ts";
import { PICTURE_CHARACTERS } from "../../core/tokens.ts";

const IMAGE_TEXT = "[image]".padEnd(PICTURE_CHARACTERS, " ");

/** Returns all text of a message. An image has the length that pi assumes. */
export function messageText(message: unknown): string {
	const content = property(message, "content");
	if (typeof content === "string") return content;
	if (Array.isArray(content)) return content.map(blockText).filter(Boolean).join("\n");
	const summary = property(message, "summary");
	if (typeof summary === "string") return summary;
	const command = property(message, "command");
	if (typeof command !== "string") return "";
	return `$ ${command}\n${property(message, "output") ?? ""}`;
}

export function blockText(block: unknown): string {
	const type = property(block, "type");
	if (type === "text" || type === "thinking") return String(property(block, type) ?? "");
	if (type === "image") return IMAGE_TEXT;
	if (type !== "toolCall") return "";
	return `${property(block, "name")}(${JSON.stringify(property(block, "arguments")) ?? ""})`;
}
