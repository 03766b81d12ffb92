/**
 * An index of a project's code that answers eight questions: search, dependencies, outline, symbol,
 * usages, impact, task context and symbol map. Every question first compares the tree with the
 * index, so answers are up to date; their `coverage` says what could not be read. The index is an
 * SQLite file in the user's cache folder. It runs in a worker thread, so close it after use. Nothing is
 * stored before the first `build`.
 *
 * @example
 * Indexes the project in the current folder and finds every usage of a symbol.
 * ```ts
 * import { CodeIndexError, openCodeIndex } from "pi-strata/codeindex";
 *
 * const symbol = process.argv[2] ?? "total";
 * const index = openCodeIndex({ root: process.cwd() });
 * try {
 * 	const { coverage } = await index.build();
 * 	console.log(`${coverage.files} files`);
 * 	const { definitions } = await index.usages({ symbol });
 * 	for (const { path, line, usages } of definitions) {
 * 		console.log(`${path}:${line} defines ${symbol}`);
 * 		for (const usage of usages) console.log(`  ${usage.path}:${usage.line} ${usage.kind}`);
 * 		const { risk, summary } = await index.impact({ modify: [path], symbols: [symbol] });
 * 		console.log(`  ${risk} risk: ${summary}`);
 * 	}
 * } catch (error) {
 * 	if (!(error instanceof CodeIndexError)) throw error;
 * 	console.error(`${error.code}: ${error.message}`);
 * 	process.exitCode = 1;
 * } finally {
 * 	await index.close();
 * }
 * ```
 */
export {
	type AnswerOf,
	type BuildOptions,
	type BuildReport,
	type CallOptions,
	type CodeIndex,
	CodeIndexError,
	type Coverage,
	deleteCodeIndex,
	type IndexProgress,
	type IndexStatus,
	openCodeIndex,
	type QueryOf,
	type QuestionName,
	type Questions,
} from "../codeindex/index.ts";
export type { OpenOptions as CodeIndexOptions } from "../codeindex/open.ts";
