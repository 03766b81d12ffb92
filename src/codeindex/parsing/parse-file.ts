import { describeError } from "../../core/errno.ts";
import { fileWords, NO_WORDS } from "../extract/words.ts";
import type { Extent, Extract, Language } from "../language.ts";
import { languageOf } from "../languages.ts";
import { readSource } from "../read-source.ts";
import { packFile } from "../store/packed-file.ts";
import { type FileOutcome, failedFile } from "./file-outcome.ts";

const extractors = new Map<Language, Extract | Error>();

/** Loads the extractors of the files' languages. Returns whether there were any. A failure becomes the problem of each file. */
export async function loadLanguages(paths: readonly string[]): Promise<boolean> {
	const before = extractors.size;
	for (const path of paths) {
		const language = languageOf(path);
		if (!language || extractors.has(language)) continue;
		const loaded = await language.loadExtract().catch((error: Error) => error);
		extractors.set(language, loaded);
	}
	return extractors.size > before;
}

/** Never throws: an error is returned as the file's problem. Its language must be loaded. */
export function parseFile(root: string, path: string, extent: Extent = "whole"): FileOutcome {
	const source = readSource(root, path);
	if (source.kind === "gone") return { kind: "gone", path };
	if (source.kind === "unreadable") return failedFile(path, source.reason);
	const language = languageOf(path);
	const extract = language && extractors.get(language);
	if (typeof extract !== "function") {
		return failedFile(path, extract ? describeError(extract) : "its language is not known");
	}
	const text = source.bytes.toString("utf8");
	// Drops the byte order mark, which positions do not count.
	const content = text.startsWith("\uFEFF") ? text.slice(1) : text;
	try {
		const facts = extract(path, content, extent);
		const packed = packFile(facts, facts.isSkeleton ? NO_WORDS : fileWords(path, content, facts));
		return { kind: "parsed", path, hash: source.hash, packed };
	} catch (error) {
		const reason =
			error instanceof RangeError ? "it is nested too deeply" : "the parser failed on it";
		return { ...failedFile(path, reason), hash: source.hash };
	}
}
