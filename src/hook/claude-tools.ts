import { isRecord, property } from "../core/property.ts";
import { numbered, unnumbered } from "./numbered.ts";

/** How Claude Code shows what a tool returned, for the tools and the forms that we know. */
export interface ToolForm {
	/** What the model is shown; `undefined` for any other form. */
	shownAs(response: unknown): string | undefined;
	/** The response that is shown as this text; `undefined` if there is none. */
	showing(text: string, response: unknown): unknown;
	/** Whether a text that was shown has this form; `undefined` if that cannot be seen. */
	isFormOf(text: string): boolean | undefined;
	/** Whether lines are numbered by their place. */
	readonly isNumbered: boolean;
	/** What the tool adds to the block of its result. */
	readonly block: Readonly<Record<string, unknown>>;
}

const read: ToolForm = {
	isNumbered: true,
	block: {},
	isFormOf: (text) => unnumbered(text) !== undefined,
	shownAs(response) {
		const file = property(response, "file");
		const [content, startLine] = [property(file, "content"), property(file, "startLine")];
		const isKnown =
			hasOnly(response, ["type", "file"]) &&
			property(response, "type") === "text" &&
			hasOnly(file, ["filePath", "content", "numLines", "startLine", "totalLines"]);
		if (!isKnown || typeof content !== "string" || content === "" || content.includes("\r")) {
			return undefined;
		}
		const isPlace = typeof startLine === "number" && Number.isInteger(startLine) && startLine > 0;
		return isPlace ? numbered(content, startLine) : undefined;
	},
	showing(text, response) {
		const { content, firstLine } = unnumbered(text) ?? {};
		if (content === undefined || !isRecord(response) || !isRecord(response.file)) return undefined;
		const numLines = content.split("\n").length;
		return { ...response, file: { ...response.file, content, startLine: firstLine, numLines } };
	},
};

const bash: ToolForm = {
	isNumbered: false,
	block: { is_error: false },
	isFormOf: () => undefined,
	shownAs(response) {
		const { stdout, stderr, interrupted, isImage, noOutputExpected, ...others } = isRecord(response)
			? response
			: {};
		const isPlain = stderr === "" && interrupted === false && isImage === false;
		const hasNotes = Object.values(others).some((value) => value !== undefined && value !== null);
		if (!isPlain || hasNotes || typeof stdout !== "string") return undefined;
		if (noOutputExpected !== undefined && typeof noOutputExpected !== "boolean") return undefined;
		const shown = stdout.replace(/^(\s*\n)+/, "").trimEnd();
		return shown === "" ? undefined : shown;
	},
	showing: (text, response) => (isRecord(response) ? { ...response, stdout: text } : undefined),
};

const FORMS: Readonly<Record<string, ToolForm>> = { Read: read, Bash: bash };

/** The tools whose results may be shortened. */
export const KNOWN_TOOLS = Object.keys(FORMS);

export function formOf(tool: string): ToolForm | undefined {
	return Object.hasOwn(FORMS, tool) ? FORMS[tool] : undefined;
}

function hasOnly(value: unknown, keys: readonly string[]): boolean {
	return isRecord(value) && Object.keys(value).every((key) => keys.includes(key));
}
