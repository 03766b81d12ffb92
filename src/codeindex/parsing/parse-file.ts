import { extractFacts } from "../extract/extract.ts";
import { fileWords } from "../extract/words.ts";
import { readSource } from "../read-source.ts";
import { packFile } from "../store/packed-file.ts";
import { type FileOutcome, failedFile } from "./file-outcome.ts";

/** Never throws: an error is returned as the file's problem. */
export function parseFile(root: string, path: string): FileOutcome {
	const source = readSource(root, path);
	if (source.kind === "gone") return { kind: "gone", path };
	if (source.kind === "unreadable") return failedFile(path, source.reason);
	const text = source.bytes.toString("utf8");
	// Drops the byte order mark, which positions do not count.
	const content = text.startsWith("\uFEFF") ? text.slice(1) : text;
	try {
		const facts = extractFacts(path, content);
		const packed = packFile(facts, fileWords(path, content, facts));
		return { kind: "parsed", path, hash: source.hash, packed };
	} catch (error) {
		const reason =
			error instanceof RangeError ? "it is nested too deeply" : "the parser failed on it";
		return { ...failedFile(path, reason), hash: source.hash };
	}
}
