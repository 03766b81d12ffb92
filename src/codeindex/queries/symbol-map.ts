import { estimateTokens } from "../../core/tokens.ts";
import type { SymbolMapAnswer, SymbolMapQuery, Uncovered } from "../answers.ts";
import type { Member } from "../facts.ts";
import type { FileId, IndexedFile, IndexReader } from "../index-reader.ts";
import { linkerOf } from "../link/linker.ts";
import { importersOfSymbol } from "../link/usages.ts";
import { byPath, filesByRank } from "./graph.ts";
import { isMinified } from "./known-file.ts";
import { type FoundSymbol, symbolsIn } from "./symbols.ts";

/** The highest-ranked files that fit the budget, by path. A block depends only on its file. */
export function symbolMap(
	reader: IndexReader,
	{ budgetTokens, exclude = [] }: SymbolMapQuery,
): Uncovered<SymbolMapAnswer> {
	const isExcluded = new Set(exclude);
	const all = filesByRank(reader)
		.flatMap((id) => reader.files.get(id) ?? [])
		.filter(({ path }) => !isExcluded.has(path));
	const written = all.filter((file) => !isMinified(file));
	const candidates = written.length > 0 ? written : all;

	const blocks: { file: IndexedFile; text: string; tokens: number }[] = [];
	let left = budgetTokens;
	let misses = 0;
	let without = 0;
	for (const file of candidates) {
		if (left < SMALLEST_BLOCK || misses >= MAX_MISSES) break;
		const text = blockOf(reader, file);
		if (text === undefined) {
			without++;
			continue;
		}
		const tokens = estimateTokens(text.length);
		if (tokens > left) {
			misses++;
			continue;
		}
		left -= tokens;
		blocks.push({ file, text, tokens });
	}
	return {
		blocks: blocks
			.sort((a, b) => byPath(a.file, b.file))
			.map(({ file, text, tokens }) => ({
				path: file.path,
				text,
				tokens,
				references: usersOf(reader, file.id),
			})),
		omittedFiles: candidates.length - blocks.length - without,
	};
}

/** Minimum size of a block in tokens: a path and one line. */
const SMALLEST_BLOCK = 12;
/** After this many blocks that do not fit, the budget counts as used up. */
const MAX_MISSES = 20;
const MAX_SYMBOLS = 24;
const MAX_MEMBERS = 12;

function blockOf(reader: IndexReader, file: IndexedFile): string | undefined {
	const exported = symbolsIn(reader, file.id).filter((symbol) => symbol.exported);
	if (exported.length === 0) return undefined;
	const lines = exported.slice(0, MAX_SYMBOLS).flatMap(linesOf);
	const more = exported.length - MAX_SYMBOLS;
	return [`${file.path}:`, ...lines, ...(more > 0 ? [`  … ${more} more`] : []), ""].join("\n");
}

function linesOf({ facts }: FoundSymbol): string[] {
	const members = (facts.members ?? []).filter(isPublic);
	const names = members.slice(0, MAX_MEMBERS).map(({ name, symbol }) => {
		return symbol === "method" ? `${name}()` : name;
	});
	const more = members.length > MAX_MEMBERS ? ", …" : "";
	return [`  ${facts.signature}`, ...(names.length > 0 ? [`    ${names.join(", ")}${more}`] : [])];
}

function isPublic({ name, signature }: Member): boolean {
	return name !== "constructor" && !/^(#|_)/.test(name) && !/^(private|protected) /.test(signature);
}

/** Counts importing files. Stops after a thousand. */
function usersOf(reader: IndexReader, file: FileId): number {
	const users = new Set<FileId>();
	for (const { entity, exported } of symbolsIn(reader, file)) {
		if (users.size >= 1000) break;
		if (!exported || entity.kind !== "declared") continue;
		for (const user of importersOfSymbol(linkerOf(reader), entity)) users.add(user);
	}
	return users.size;
}
