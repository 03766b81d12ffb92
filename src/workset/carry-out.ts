import { copyText, droppedText, type FileText, SLOT_INTRO } from "./copy-text.ts";
import type { LogPlan } from "./log/layout.ts";
import type { View } from "./view.ts";

/** A piece of a message's content. */
export interface TextBlock {
	type: "text";
	text: string;
}

/** What is to be done to a session so that it follows a plan. */
export interface SessionChanges {
	/** The content of messages to append, in their order. */
	readonly append: readonly TextBlock[][];
	/** By entry: its new content, or `null` for none. */
	readonly edits: ReadonlyMap<string, TextBlock[] | null>;
}

/** The texts that a plan is carried out with. */
export interface WorksetTexts {
	readonly files: readonly FileText[];
	readonly view: View;
}

/** Turns a plan into messages and edits. A file that was dropped since is announced once. */
export function changesFor(plan: LogPlan, { files, view }: WorksetTexts): SessionChanges {
	const byPath = new Map(files.map((file) => [file.path, file]));
	const append: TextBlock[][] = [];
	const edits = new Map<string, TextBlock[] | null>(plan.drop.map((entryId) => [entryId, null]));
	if (plan.slot) {
		const { entryId, paths } = plan.slot;
		// Without a word of what they replace: what stays where it is keeps its bytes.
		const texts = textsOf(paths).map((file) => copyText(file));
		const content = [SLOT_INTRO, ...texts].map(blockOf);
		if (entryId === undefined) append.push(content);
		else edits.set(entryId, content);
	}
	for (const file of textsOf(plan.append)) {
		append.push([blockOf(copyText(file, view.newest.get(file.path)))]);
	}
	const left = [...view.newest.keys()].filter((path) => !byPath.has(path) && staysInView(path));
	if (left.length > 0) append.push([blockOf(droppedText(left))]);
	return { append, edits };

	function textsOf(paths: readonly string[]): FileText[] {
		return paths.flatMap((path) => byPath.get(path) ?? []);
	}

	/** What goes altogether needs no word. */
	function staysInView(path: string): boolean {
		const holders = view.copies.filter((copy) => copy.files.some((file) => file.path === path));
		return holders.some(({ entryId }) => !edits.has(entryId));
	}
}

/** A text as a block of a message. */
export function blockOf(text: string): TextBlock {
	return { type: "text", text };
}
