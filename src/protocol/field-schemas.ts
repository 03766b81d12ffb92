import Type, { type TEnum } from "typebox";

// A description completes the sentence "`field` must be …".

/** The most characters of a message to the model, and of instructions and dialog answers. */
export const MAX_MESSAGE = 200_000;

/** The most characters of a session file sent as text; with the rest of its frame it stays under the frame limit. */
export const MAX_SESSION_CONTENT = 8_000_000;

/** Blank means white space only; `\S` asks for one character that is not. */
const NOT_BLANK = "\\S";

/** Names a command. `anon:` is how the server names commands without an id. */
export const CommandId = text({
	max: 256,
	pattern: "^(?!anon:)[\\s\\S]*\\S",
	note: ", not blank, not starting with anon:",
});

/** A command that was named before, maybe by the server itself. */
export const KnownCommandId = text({ max: 256, pattern: NOT_BLANK, note: ", not blank" });

/** Retries under the same key are answered with the first outcome. */
export const IdempotencyKey = KnownCommandId;

/** Names a session. It becomes part of file names, hence no separators and neither `.` nor `..`. */
export const SessionId = text({
	max: 256,
	pattern: "^(?!\\.{1,2}$)[a-zA-Z0-9_.-]+$",
	note: " out of a-z A-Z 0-9 _ . - but neither . nor ..",
});

/** A name people give: one line of text without what would act on a terminal (C0, DEL and C1). */
export const Name = text({
	max: 256,
	pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]*$",
	note: " without control characters",
});

/** What a session is called. */
export const SessionName = text({
	max: 256,
	pattern: "^(?=[\\s\\S]*\\S)[^\\u0000-\\u001f\\u007f-\\u009f]*$",
	note: " without control characters, not blank",
});

/** Something pi names: a model, a provider, an entry of a session, a dialog. */
export const Reference = text({ max: 256, pattern: NOT_BLANK, note: ", not blank" });

/** A path on the server's machine. NUL would end it early for the operating system. */
export const Path = text({ max: 4096, pattern: "^[^\\u0000]*$", note: " without NUL" });

/** How an absolute path begins, on any system the server may run on. */
const FROM_ROOT = "^(?:[/\\\\]|[A-Za-z]:[/\\\\])";

/** A folder on the server's machine. */
export const AbsolutePath = text({
	max: 4096,
	pattern: `${FROM_ROOT}[^\\u0000]*$`,
	note: ", an absolute path without NUL",
});

/** A session file on the server's machine. */
export const SessionPath = text({
	max: 4096,
	pattern: `${FROM_ROOT}[^\\u0000]*\\.jsonl$`,
	note: ", the absolute path of a .jsonl file without NUL",
});

/** A file in the session's own folder. */
export const ExportName = text({
	max: 255,
	pattern: "^\\w[\\w .-]*\\.html$",
	note: ", a plain file name that ends in .html",
});

/** What the user says to the model. */
export const Message = text({ max: MAX_MESSAGE });

/** What to watch for while summarising. */
export const Instructions = text({ min: 0, max: MAX_MESSAGE });

/** A whole number from zero up. */
export const Count = whole(0, Number.MAX_SAFE_INTEGER);

/** Milliseconds since 1970. */
export const Time = whole(0, Number.MAX_SAFE_INTEGER);

/** Pictures that go with a message, as pi takes them. */
export const Images = Type.Array(
	Type.Object({
		type: Type.Literal("image"),
		data: Type.String({ minLength: 1, description: "the picture in base64" }),
		mimeType: text({
			max: 100,
			pattern: "^image/[a-z0-9.+-]+$",
			note: " that name an image type, such as image/png",
		}),
	}),
	{ maxItems: 20 },
);

/** How hard the model thinks. */
export const ThinkingLevel = oneOf("off", "minimal", "low", "medium", "high", "xhigh", "max");

/** Whether queued messages are delivered together or one a turn. */
export const QueueMode = oneOf("all", "one-at-a-time");

/** Text of a bounded length (in UTF-16 units). `note` goes on where the length ends. */
export function text(bounds: { min?: number; max: number; pattern?: string; note?: string }) {
	const { min = 1, max, pattern, note = "" } = bounds;
	return Type.String({
		minLength: min,
		maxLength: max,
		...(pattern !== undefined && { pattern }),
		description: `a string of ${min} to ${max} characters${note}`,
	});
}

/** A whole number within bounds. */
export function whole(minimum: number, maximum: number) {
	const upTo = maximum === Number.MAX_SAFE_INTEGER ? " up" : ` to ${maximum}`;
	return Type.Integer({
		minimum,
		maximum,
		description: `a whole number from ${minimum}${upTo}`,
	});
}

/** One of a few words. */
export function oneOf<Words extends string[]>(...words: Words): TEnum<Words> {
	return Type.Enum<Words>([...words], { description: `one of ${words.join(", ")}` });
}
