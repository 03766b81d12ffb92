import type { Coverage, FileAtDepth, SymbolBrief, Usage } from "../../src/codeindex/answers.ts";
import {
	type CallOptions,
	type CodeIndex,
	CodeIndexError,
	type IndexStatus,
} from "../../src/codeindex/index.ts";

export const NOW = 1_700_000_000_000;

/** The coverage of a sound index of a few files. */
export function coverage(over: Partial<Coverage> = {}): Coverage {
	return {
		files: 120,
		unparsed: { count: 0, paths: [] },
		unresolvedImports: 0,
		checkedMs: NOW,
		refreshedFiles: 0,
		complete: true,
		...over,
	};
}

export function file(path: string, over: Partial<FileAtDepth> = {}): FileAtDepth {
	return { path, depth: 1, kinds: ["value"], isTest: false, ...over };
}

export function symbol(name: string, over: Partial<SymbolBrief> = {}): SymbolBrief {
	return {
		name,
		kind: "function",
		line: 10,
		endLine: 12,
		exported: true,
		signature: `export function ${name}(): void`,
		...over,
	};
}

export function usage(path: string, line: number, over: Partial<Usage> = {}): Usage {
	return { path, line, column: 5, kind: "call", isTest: false, ...over };
}

/** An index that answers from a script, and counts what it is asked. */
export interface FakeIndex extends CodeIndex {
	/** The names of the calls so far. */
	readonly calls: string[];
	/** `absent` until it is built; settable. */
	state: IndexStatus["state"];
	closed: boolean;
}

type Answers = Partial<Omit<CodeIndex, "root" | "close">>;

/** Questions without a scripted answer fail. */
export function fakeIndex(answers: Answers = {}, state: IndexStatus["state"] = "ready"): FakeIndex {
	const calls: string[] = [];
	const question =
		<Query, Answer>(
			name: string,
			answer: ((query: Query, o?: CallOptions) => Promise<Answer>) | undefined,
		) =>
		async (query: Query, options?: CallOptions) => {
			calls.push(name);
			if (fake.closed) throw new CodeIndexError("unavailable", "closed");
			if (fake.state === "absent") throw new CodeIndexError("not-indexed", "not indexed");
			if (!answer) throw new CodeIndexError("failed", `${name} is not scripted`);
			return await answer(query, options);
		};
	const fake: FakeIndex = {
		root: "/project",
		calls,
		state,
		closed: false,
		async status() {
			calls.push("status");
			if (answers.status) return answers.status();
			return {
				state: fake.state,
				root: "/project",
				database: "/cache/index.db",
				bytes: 5 * 1024 ** 2,
				files: fake.state === "absent" ? 0 : 120,
				symbols: 900,
				updatedMs: NOW - 3 * 60_000,
			};
		},
		async build(options) {
			calls.push("build");
			if (answers.build) return answers.build(options);
			options?.onProgress?.({ phase: "parsing", done: 60, total: 120 });
			const added = fake.state === "absent" ? 120 : 0;
			fake.state = "ready";
			return { coverage: coverage(), added, changed: 0, removed: 0, seconds: 1.25 };
		},
		search: question("search", answers.search),
		dependencies: question("dependencies", answers.dependencies),
		outline: question("outline", answers.outline),
		symbol: question("symbol", answers.symbol),
		usages: question("usages", answers.usages),
		impact: question("impact", answers.impact),
		taskContext: question("taskContext", answers.taskContext),
		symbolMap: question("symbolMap", answers.symbolMap),
		async close() {
			calls.push("close");
			fake.closed = true;
		},
	};
	return fake;
}
