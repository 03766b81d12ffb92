import { StringDecoder } from "node:string_decoder";
import { stripVTControlCharacters } from "node:util";

export type LogTail = ReturnType<typeof createLogTail>;

/** `lines` and `bytes` limit the whole log, `lineChars` one line. */
export const LOG_LIMITS = { lines: 200, bytes: 64 * 1024, lineChars: 1000 } as const;

/** The last lines of a program's output, sanitized for a terminal. */
export function createLogTail() {
	const decoder = new StringDecoder("utf8");
	const finished: string[] = [];
	let bytes = 0;
	let unfinished = "";

	return {
		write(chunk: Uint8Array): void {
			const [first = "", ...rest] = decoder.write(Buffer.from(chunk)).split(/\r?\n|\r/);
			grow(first);
			for (const part of rest) {
				add(unfinished);
				unfinished = "";
				grow(part);
			}
		},
		note: add,
		lines(): string[] {
			const rest = printable(unfinished);
			return [...finished, ...(rest === "" ? [] : [rest])].slice(-LOG_LIMITS.lines);
		},
	};

	/** Limits the length of an unterminated line. */
	function grow(part: string): void {
		const room = LOG_LIMITS.lineChars * 2 - unfinished.length;
		if (room > 0) unfinished += part.slice(0, room);
	}

	function add(line: string): void {
		const text = printable(line);
		if (text === "") return;
		finished.push(text);
		bytes += Buffer.byteLength(text);
		while (finished.length > LOG_LIMITS.lines || bytes > LOG_LIMITS.bytes) {
			bytes -= Buffer.byteLength(finished.shift() ?? "");
		}
	}
}

/** Strips escape sequences, control characters and bidi marks from untrusted text; truncates it. */
export function printable(text: string, maxChars: number = LOG_LIMITS.lineChars): string {
	const plain = stripVTControlCharacters(text.slice(0, maxChars * 4))
		.replace(/\s+/g, " ")
		.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, "")
		.trim();
	return (plain.length > maxChars ? `${plain.slice(0, maxChars - 1)}…` : plain).toWellFormed();
}
