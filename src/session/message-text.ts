import { property } from "../core/property.ts";

/**
 * The text of a message's content: its text blocks joined by newlines. `undefined` when there is none or when
 * anything else (an image) stands beside it, since then the text is not all the model saw.
 */
export function textOf(content: unknown): string | undefined {
	if (typeof content === "string") return content;
	if (!Array.isArray(content) || content.length === 0) return undefined;
	if (!content.every(isTextBlock)) return undefined;
	const [only, ...more] = content;
	return more.length === 0 ? only?.text : content.map((block) => block.text).join("\n");
}

function isTextBlock(block: unknown): block is { type: "text"; text: string } {
	if (typeof block !== "object" || block === null) return false;
	const { type, text } = block as { type?: unknown; text?: unknown };
	return type === "text" && typeof text === "string";
}

/** The blocks of text of a message, each as it is; other blocks are left out. */
export function textBlocks(content: unknown): string[] {
	if (typeof content === "string") return [content];
	if (!Array.isArray(content)) return [];
	return content.flatMap((block) => {
		const text = property(block, "text");
		return property(block, "type") === "text" && typeof text === "string" ? [text] : [];
	});
}

/** What a message of an extension is known by, in the session and in a request; no call of a tool has such an id. */
export function messageId(details: unknown): string | undefined {
	const id = property(details, "id");
	return typeof id === "string" ? `message:${id}` : undefined;
}
