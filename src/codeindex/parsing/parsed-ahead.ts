import type { ScannedFile } from "../scan/scanned-tree.ts";
import type { FileOutcome } from "./file-outcome.ts";
import type { FileParser } from "./parser.ts";

/** More changed files are not an edit. They are parsed together, in batches. */
const MAX_FILES = 4;

/** Parses files that were just edited while the scan goes on. For one scan: its files are keys. */
export class ParsedAhead {
	readonly #parser: Pick<FileParser, "parse">;
	readonly #signal: AbortSignal | undefined;
	readonly #outcomes = new Map<ScannedFile, Promise<FileOutcome | undefined>>();

	constructor(parser: Pick<FileParser, "parse">, signal?: AbortSignal) {
		this.#parser = parser;
		this.#signal = signal;
	}

	/** The file's times must have been read before this call, so that a later edit shows. */
	start(file: ScannedFile): void {
		if (this.#outcomes.size < MAX_FILES) this.#outcomes.set(file, this.#parse(file));
	}

	/** Calls `take` with what was parsed. Returns the other files. */
	async take<File extends ScannedFile>(
		files: readonly File[],
		take: (outcome: FileOutcome) => void,
	): Promise<readonly File[]> {
		const left: File[] = [];
		for (const file of files) {
			const outcome = await this.#outcomes.get(file);
			if (outcome) take(outcome);
			else left.push(file);
		}
		return left;
	}

	/** Undefined after a failure: the refresh parses the file again and reports it. */
	async #parse(file: ScannedFile): Promise<FileOutcome | undefined> {
		let found: FileOutcome | undefined;
		const take = (outcome: FileOutcome) => {
			found = outcome;
		};
		await this.#parser.parse([file], take, this.#signal).catch(() => {});
		return found;
	}
}
