/** Savings in the proxy: results of agents' requests, shortened before they are first sent. */

export {
	type BirthMarks,
	type Mark,
	MemoryMarks,
	openMarks,
	SAVINGS_STORE,
	savingsFolder,
} from "./marks.ts";
export { Rewriter, type RewriterOptions } from "./rewriter.ts";
