import { hashBytes } from "../core/hash.ts";
import { estimateTokens } from "../core/tokens.ts";
import type { customMessages, ShownFile } from "../session/index.ts";
import type { Copy } from "./log/copies.ts";

/** A file's text in the session, or a note that replaces it. */
export interface FileText {
	readonly path: string;
	readonly hash: string;
	readonly text: string;
	/** Set if the file has no text to show; `text` then says why. */
	readonly gone?: true;
}

export const SLOT_INTRO =
	"These are the working files of this session. They are kept up to date: when one changes, its new text is given further on. " +
	"Of several copies of a file, the last one is the file as it is now.";

export const TAIL_INTRO =
	"Working files as they are at this moment, in place of all earlier copies:";

/** The file's text is between the first and last line of a block, so it can contain anything. */
export function copyText({ path, hash, text, gone }: FileText, replaces?: string): string {
	const notes = [
		`path=${JSON.stringify(path)}`,
		`sha256="${hash}"`,
		...(replaces ? [`replaces="${replaces.slice(0, SHORT)}"`] : []),
		...(gone ? ['state="gone"'] : []),
	];
	return `<working-file ${notes.join(" ")}>\n${text}${END}`;
}

const SHORT = 12;
const END = "\n</working-file>";
const FIRST_LINE =
	/^<working-file path=("(?:[^"\\\n]|\\.)*") sha256="([0-9a-f]{64})"(?: replaces="[0-9a-f]+")?( state="gone")?>$/;

/** `undefined` if the text is not such a block, or does not match the hash in its first line. */
export function parseCopy(block: string): FileText | undefined {
	const lineEnd = block.indexOf("\n");
	const match = FIRST_LINE.exec(block.slice(0, lineEnd));
	if (!match || !block.endsWith(END)) return undefined;
	const [, quoted = '""', hash = "", gone] = match;
	const text = block.slice(lineEnd + 1, -END.length);
	if (hashBytes(text) !== hash) return undefined;
	try {
		return { path: JSON.parse(quoted) as string, hash, text, ...(gone && { gone: true as const }) };
	} catch {
		return undefined; // the path has an invalid escape
	}
}

const DROPPED = "No longer kept up to date from here on: ";

export function droppedText(paths: readonly string[]): string {
	return `${DROPPED}${JSON.stringify(paths)}`;
}

export function parseDropped(block: string): string[] {
	if (!block.startsWith(DROPPED)) return [];
	try {
		const paths: unknown = JSON.parse(block.slice(DROPPED.length));
		return Array.isArray(paths) ? paths.filter((path) => typeof path === "string") : [];
	} catch {
		return [];
	}
}

export interface TextBlock {
	readonly type: "text";
	readonly text: string;
}

export function blockOf(text: string): TextBlock {
	return { type: "text", text };
}

/** The working set as the model sees it. */
export interface View {
	readonly copies: readonly Copy[];
	/** Hash of the newest copy by path, without dropped files. */
	readonly newest: ReadonlyMap<string, string>;
}

/** A copy is void if its file was dropped later: the model was asked not to rely on it. */
export function viewOf(messages: ReturnType<typeof customMessages>): View {
	const slotAt = messages.findLastIndex(({ texts }) => texts[0] === SLOT_INTRO);
	const newest = new Map<string, string>();
	const copies = messages.map(({ entryId, texts, tokensBehind }, index): Copy => {
		const files = texts.flatMap((text) => {
			for (const path of parseDropped(text)) newest.delete(path);
			const copy = parseCopy(text);
			if (!copy) return [];
			newest.set(copy.path, copy.hash);
			return [{ path: copy.path, hash: copy.hash, tokens: estimateTokens(text.length) }];
		});
		return { entryId, kind: index === slotAt ? "slot" : "snapshot", files, tokensBehind };
	});
	const kept = copies.map((copy) => ({
		...copy,
		files: copy.files.map((file) => (newest.has(file.path) ? file : { ...file, hash: NO_VERSION })),
	}));
	return { copies: kept, newest };
}

/** No file has this hash, so the copy counts as outdated. */
const NO_VERSION = "";

/** Files without text have only a path. `undefined` for a changed message, which may show anything. */
export function filesIn(texts: readonly string[]): ShownFile[] | undefined {
	const files = [];
	for (const text of texts) {
		const copy = parseCopy(text);
		if (copy) files.push({ path: copy.path, text: copy.gone ? undefined : copy.text });
		else if (text !== SLOT_INTRO && parseDropped(text).length === 0) return undefined;
	}
	return files;
}
