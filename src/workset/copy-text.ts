import { hashBytes } from "../core/hash.ts";

/** A file's text as it goes into the session, or what is to be said instead of it. */
export interface FileText {
	readonly path: string;
	/** The hash of `text`. */
	readonly hash: string;
	readonly text: string;
	/** The file has no text to show, and `text` says why. */
	readonly gone?: true;
}

/** What stands before the files of the slot. */
export const SLOT_INTRO =
	"These are the working files of this session. They are kept up to date: when one changes, its new text is given further on. " +
	"Of several copies of a file, the last one is the file as it is now.";

/** What stands before the files of a request's tail. */
export const TAIL_INTRO =
	"Working files as they are at this moment, in place of all earlier copies:";

/**
 * A file as one block of text. The first line says what it is, so that the text in between can hold anything and still
 * be told apart: a block is one file, from its first line to its last.
 */
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

/**
 * The file that a block holds, by the block alone; `undefined` for any other text, and for a block whose text is not
 * what its first line says: somebody changed it.
 */
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
		return undefined; // an escape that is none
	}
}

const DROPPED = "No longer kept up to date from here on: ";

/** Says that files are left as they are from now on. */
export function droppedText(paths: readonly string[]): string {
	return `${DROPPED}${JSON.stringify(paths)}`;
}

/** The files that such a text is about; none for any other text. */
export function parseDropped(block: string): string[] {
	if (!block.startsWith(DROPPED)) return [];
	try {
		const paths: unknown = JSON.parse(block.slice(DROPPED.length));
		return Array.isArray(paths) ? paths.filter((path) => typeof path === "string") : [];
	} catch {
		return [];
	}
}
