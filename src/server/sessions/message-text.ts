import { property } from "../../core/property.ts";
import { PICTURE_CHARACTERS } from "../../core/tokens.ts";

/** Pi counts a picture as so many characters. */
const PICTURE = "[image]".padEnd(PICTURE_CHARACTERS, " ");

/** All of a message's text for a person: what was said, thought and called. Pictures are as long as pi counts them. */
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

function blockText(block: unknown): string {
	switch (property(block, "type")) {
		case "text":
			return String(property(block, "text") ?? "");
		case "thinking":
			return String(property(block, "thinking") ?? "");
		case "toolCall":
			return `${property(block, "name")}(${JSON.stringify(property(block, "arguments")) ?? ""})`;
		case "image":
			return PICTURE;
		default:
			return "";
	}
}
