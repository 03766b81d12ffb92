/** Makes results of tools for tests. */
import type { CallResult } from "../../src/birth/index.ts";

/** The result of reading a file. */
export function read(id: string, lines: readonly string[], path = `src/${id}.ts`): CallResult {
	return { id, tool: "read", input: { path }, text: lines.join("\n") };
}

/** Lines of code, each different, long enough that six of them are a run. */
export function code(count: number, name = "value"): string[] {
	return Array.from(
		{ length: count },
		(_, line) =>
			`\tconst ${name}${line} = compute(${line}, "all the words of line ${line}", options);`,
	);
}

/** Lines of output, each different, without numbers. */
export function output(count: number, name?: string): string[] {
	return code(count, name).map((line) =>
		line.replaceAll(/\d/g, (digit) => "abcdefghij"[Number(digit)] as string),
	);
}
