import Type, { type TEnum, type TNumber, type TProperties } from "typebox";

// A description completes the sentence "`field` must be …".

/** Maximum length of a message, instructions or a dialog answer, in characters. */
export const MAX_MESSAGE = 200_000;

/** Maximum length of a session file in a frame, in characters; keeps the frame under its limit. */
export const MAX_SESSION_CONTENT = 8_000_000;

/** At least one character that is not white space. */
const NOT_BLANK = "\\S";

/** `anon:` is reserved for ids that the server generates. */
export const CommandId = text(256, {
	pattern: "^(?!anon:)[\\s\\S]*\\S",
	note: ", not blank, not starting with anon:",
});

/** May be an id that the server generated. */
export const KnownCommandId = text(256, { pattern: NOT_BLANK, note: ", not blank" });

/** Used in file names: no separators, and not `.` or `..`. */
export const SessionId = text(256, {
	pattern: "^(?!\\.{1,2}$)[a-zA-Z0-9_.-]+$",
	note: " from a-z A-Z 0-9 _ . - (but not just . or ..)",
});

/** One line without terminal control characters (C0, DEL, C1). */
export const Name = text(256, {
	pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]*$",
	note: " without control characters",
});

export const SessionName = text(256, {
	pattern: "^(?=[\\s\\S]*\\S)[^\\u0000-\\u001f\\u007f-\\u009f]*$",
	note: " without control characters, not blank",
});

/** The name of a model, provider, entry or dialog of pi. */
export const Reference = text(256, { pattern: NOT_BLANK, note: ", not blank" });

/** A path on the server. NUL would end the path early for the operating system. */
export const Path = text(4096, { pattern: "^[^\\u0000]*$", note: " without NUL" });

/** The start of an absolute path, on any system the server may run on. */
const FROM_ROOT = "^(?:[/\\\\]|[A-Za-z]:[/\\\\])";

export const AbsolutePath = text(4096, {
	pattern: `${FROM_ROOT}[^\\u0000]*$`,
	note: ", an absolute path without NUL",
});

export const SessionPath = text(4096, {
	pattern: `${FROM_ROOT}[^\\u0000]*\\.jsonl$`,
	note: ", the absolute path of a .jsonl file without NUL",
});

/** A session file that `list_agent_sessions` names. */
export const SessionFileId = text(64, {
	min: 64,
	pattern: "^[0-9a-f]{64}$",
	note: " from 0-9 a-f",
});

/** A place in the list of session files: the time and the id of a file. */
export const SessionFilePosition = text(100, {
	pattern: "^-?[0-9]+(\\.[0-9]+)?(e[+-][0-9]+)?:[0-9a-f]{64}$",
	note: ", the `next` of a page",
});

/** A file in the session's own folder. */
export const ExportName = text(255, {
	pattern: "^\\w[\\w .-]*\\.html$",
	note: ", a plain file name that ends in .html",
});

export const Message = text(MAX_MESSAGE);

export const Instructions = text(MAX_MESSAGE, { min: 0 });

export const Count = wholeNumber(0, Number.MAX_SAFE_INTEGER);

/** Milliseconds since 1970. */
export const Time = Count;

export const Images = Type.Array(
	Type.Object({
		type: Type.Literal("image"),
		data: Type.String({ minLength: 1, description: "the picture in base64" }),
		mimeType: text(100, {
			pattern: "^image/[a-z0-9.+-]+$",
			note: " that name an image type, such as image/png",
		}),
	}),
	{ maxItems: 20 },
);

export const ThinkingLevel = oneOf("off", "minimal", "low", "medium", "high", "xhigh", "max");

/** Whether queued messages are delivered together, or one per turn. */
export const QueueMode = oneOf("all", "one-at-a-time");

const Texts = Type.Array(Type.String());
export const QueuedMessages = { steering: Texts, followUp: Texts };

/** Lengths are in UTF-16 units. `note` follows the length in the description. */
export function text(max: number, more: { min?: number; pattern?: string; note?: string } = {}) {
	const { min = 1, pattern, note = "" } = more;
	return Type.String({
		minLength: min,
		maxLength: max,
		...(pattern !== undefined && { pattern }),
		description: `a string of ${min} to ${max} characters${note}`,
	});
}

export function wholeNumber(minimum: number, maximum: number) {
	const upTo = maximum === Number.MAX_SAFE_INTEGER ? " up" : ` to ${maximum}`;
	return Type.Integer({
		minimum,
		maximum,
		description: `a whole number from ${minimum}${upTo}`,
	});
}

export function oneOf<Words extends string[]>(...words: Words): TEnum<Words> {
	return Type.Enum<Words>([...words], { description: `one of ${words.join(", ")}` });
}

export function numberFields<Field extends string>(...names: Field[]): Record<Field, TNumber> {
	const fields = names.map((name) => [name, Type.Number()]);
	return Object.fromEntries(fields) as Record<Field, TNumber>;
}

export function listOf<Fields extends TProperties>(fields: Fields) {
	return Type.Array(Type.Object(fields));
}
