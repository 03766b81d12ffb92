import { loadConfig } from "../core/config.ts";
import { agentFolder } from "../core/places.ts";
import type { Chunk } from "../paging/index.ts";
import {
	type Command,
	FLAG,
	type OptionValues,
	TEXT,
	type Terminal,
	UsageError,
} from "./command.ts";

export const read: Command = {
	name: "read",
	usage:
		"<uri> [--cursor <cursor>] [--max-chars <n>] [--everything] [--password <password>] [--all] [--json]",
	details: [
		"",
		"<uri> is an http(s): or file: address, or a path below the current folder.",
		"An address may end in #section, a PDF in #page=12 or #page=12-15. --everything prints the whole page, not only its",
		"main text, hidden parts of documents, and data as it is stored. --password opens an encrypted PDF.",
		"--cursor continues after an earlier chunk, --all prints every chunk, --json prints the answer",
		"as an object (with --all: one object per line). strata.json sets limits and allowed networks.",
	],
	options: {
		cursor: TEXT,
		"max-chars": TEXT,
		all: FLAG,
		json: FLAG,
		everything: FLAG,
		password: TEXT,
	},
	maxArguments: 1,
	async run(options, [uri], terminal) {
		if (uri === undefined) throw new UsageError("no address or path given");
		const { createPagedReader, leftOutLine, PagingError } = await import("../paging/index.ts");
		const size = options["max-chars"];
		const maxChars = size === undefined ? undefined : Number(size);
		if (Number.isNaN(maxChars)) throw new UsageError(`--max-chars must be a number, got "${size}"`);
		const { config } = loadConfig({ agentDir: agentFolder(terminal.env), cwd: terminal.cwd });
		const reader = createPagedReader({ ...config.paging, root: terminal.cwd });
		try {
			let cursor = options.cursor as string | undefined;
			for (;;) {
				terminal.progress?.(cursor ? `continuing ${uri} …` : `reading ${uri} …`);
				const answer = await reader.read({
					uri,
					cursor,
					max_chars: maxChars,
					everything: options.everything === true,
					password: options.password as string | undefined,
				});
				terminal.progress?.("");
				// Chunks of old and new content must not be mixed, and the loop might never end.
				if (options.all && answer.cursor_reset) throw changed(uri);
				show(answer, options, terminal);
				if (answer.left_out && !options.json) {
					const what = leftOutLine(answer.left_out);
					const whole = answer.kind === "document" ? "document" : "page";
					terminal.printError(`Left out: ${what}. To read the whole ${whole}, add --everything`);
				}
				cursor = answer.next_cursor;
				if (!options.all || cursor === undefined) return 0;
			}
		} catch (error) {
			terminal.progress?.("");
			if (error instanceof PagingError && error.code === "invalid_max_chars") {
				throw new UsageError(`--max-chars: ${error.message}`, { cause: error });
			}
			if (error instanceof PagingError && error.code === "outside_root") {
				throw new Error(`${error.message}; start strata in a folder that contains it`, {
					cause: error,
				});
			}
			throw error;
		} finally {
			await reader.close();
		}
	},
};

function changed(uri: string): Error {
	return new Error(`${uri} has changed since its last chunk; read it again from the beginning`);
}

function show(answer: Chunk, { json, all }: OptionValues, terminal: Terminal): void {
	const { print, write, printError } = terminal;
	if (json) {
		print(all ? JSON.stringify(answer) : JSON.stringify(answer, null, 2));
		return;
	}
	write(answer.content);
	if (!all && !answer.content.endsWith("\n")) write("\n");
	if (answer.cursor_reset)
		printError("The content has changed since this cursor was issued: this is its beginning.");
	if (answer.degraded)
		printError("The page was too large to convert fully: its layout may be rough.");
	if (answer.warning) printError(answer.warning);
	if (!all && answer.next_cursor)
		printError(`There is more. To continue, add --cursor ${answer.next_cursor}`);
}
