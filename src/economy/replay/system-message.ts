import { property } from "../../core/property.ts";
import { estimateTokens } from "../../core/tokens.ts";
import { contentHash, nameOr } from "./message-blocks.ts";

interface Sized {
	readonly hash: string;
	readonly tokens: number;
}

export interface Head {
	readonly tools: Sized;
	readonly system: Sized;
}

export type SystemChange = ReturnType<typeof systemChangeOf>;

export function systemChangeOf(message: unknown) {
	const content = property(message, "content");
	const sections = Object.entries(objectOr(property(message, "sections")));
	const toolsAdded = listOr(property(message, "toolsAdded"));
	return {
		replace: property(message, "replace") === true,
		text: isEmpty(content) ? undefined : sized(content),
		sections: new Map(
			sections.map(([name, text]) => [nameOr(name, ""), text === null ? null : sized(text)]),
		),
		toolsAdded: new Map(toolsAdded.map((tool) => [nameOf(tool), sized(tool)])),
		toolsRemoved: listOr(property(message, "toolsRemoved")).map(nameOf),
	};
}

/** As pi does for models with one system prompt. `undefined`: older pi stores no prompt. */
export function headAfter(changes: readonly SystemChange[]): Head | undefined {
	if (changes.length === 0) return undefined;
	const last = changes.findLastIndex((change) => change.replace);
	const texts: Sized[] = [];
	const sections = new Map<string, Sized>();
	const tools = new Map<string, Sized>();
	for (const change of changes.slice(Math.max(0, last))) {
		if (change.text) texts.push(change.text);
		for (const [name, text] of change.sections) {
			if (text === null) sections.delete(name);
			else sections.set(name, text);
		}
		for (const name of change.toolsRemoved) tools.delete(name);
		for (const [name, tool] of change.toolsAdded) tools.set(name, tool);
	}
	return { tools: joined(tools.values()), system: joined([...texts, ...sections.values()]) };
}

function joined(parts: Iterable<Sized>): Sized {
	const all = [...parts];
	const hashes = all.map((part) => part.hash);
	const tokens = all.reduce((sum, part) => sum + part.tokens, 0);
	return { hash: contentHash("head", hashes), tokens };
}

function sized(content: unknown): Sized {
	const text = typeof content === "string" ? content : (JSON.stringify(content) ?? "");
	return { hash: contentHash("head", content), tokens: estimateTokens(text.length) };
}

function isEmpty(content: unknown): boolean {
	return (content ?? "") === "" || (Array.isArray(content) && content.length === 0);
}

function nameOf(tool: unknown): string {
	return nameOr(property(tool, "name"), "");
}

function listOr(value: unknown): readonly unknown[] {
	return Array.isArray(value) ? value : [];
}

function objectOr(value: unknown): object {
	return typeof value === "object" && value !== null ? value : {};
}
