import { compareText } from "../core/compare-text.ts";

/** A piece of a prompt that has a place in a tier or in the active part. */
export interface PromptItem {
	/** A file's path, `symbol:<path>`, or the stable id of a history entry. */
	readonly key: string;
	readonly kind: "file" | "symbol" | "history";
	/** The file's content, the compact block of its symbols, or what was said. */
	readonly text: string;
	/** The file has no text to show, and `text` says why. */
	readonly gone?: true;
	/** Who said it; of history only. Default: user. */
	readonly role?: "user" | "assistant";
	/** What the text weighs. Default: an estimate from its length. */
	readonly tokens?: number;
	/** When the item was first seen; any rising number. Symbols and files stand in this order, then in that of keys. */
	readonly entered?: number;
}

/**
 * The text of a tier, or of the active part: symbols, then files, then history as markdown; empty without items. N has
 * no say in the order: a count that moves text would change bytes where nothing changed.
 */
export function tierText(label: string, items: readonly PromptItem[]): string {
	const symbols = inOrder(items, "symbol").map(({ text }) => text);
	const files = inOrder(items, "file").map(fileText);
	const history = items.filter(({ kind }) => kind === "history").map(messageText);
	return joined([
		section(`Symbols (${label})`, symbols),
		section(`Files (${label})`, files),
		section(`Conversation History (${label})`, history),
	]);
}

/** A heading with what stands under it; empty if that is nothing. */
export function section(title: string, texts: readonly string[]): string {
	const body = joined(texts);
	return body === "" ? "" : joined([`## ${title}`, body]);
}

/** Parts with an empty line between them; empty parts leave no trace. */
export function joined(parts: readonly string[]): string {
	return parts.filter((part) => part !== "").join("\n\n");
}

function inOrder(items: readonly PromptItem[], kind: PromptItem["kind"]): PromptItem[] {
	return items
		.filter((item) => item.kind === kind)
		.sort((a, b) => (a.entered ?? 0) - (b.entered ?? 0) || compareText(a.key, b.key));
}

/** A file under its path, in a fence longer than any inside it; what is said instead of its text is in none. */
function fileText({ key, text, gone }: PromptItem): string {
	if (gone) return `### ${shownPath(key)}\n${text}`;
	const runs = text.match(/`{3,}/g) ?? [];
	const fence = "`".repeat(runs.reduce((longest, { length }) => Math.max(longest, length + 1), 3));
	const end = text === "" || text.endsWith("\n") ? "" : "\n";
	return `### ${shownPath(key)}\n${fence}\n${text}${end}${fence}`;
}

/** A name with a line break in it could pass for a heading of ours. */
function shownPath(path: string): string {
	return /[\p{Cc}\p{Zl}\p{Zp}]/u.test(path) ? JSON.stringify(path) : path;
}

function messageText({ role, text }: PromptItem): string {
	return `### ${role === "assistant" ? "Assistant" : "User"}\n${text}`;
}
