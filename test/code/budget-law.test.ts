/** The law of the tools: no answer is larger than its budget, whatever the project holds. */
import { describe, expect, test } from "vitest";
import { CodeProject, projectPaths, runTool } from "../../src/code/index.ts";
import type { ToolCalls } from "../../src/code/tool-definitions.ts";
import type { CodeIndex } from "../../src/codeindex/index.ts";
import { fc, runs } from "../support/property.ts";
import {
	depsAnswer,
	impactAnswer,
	outlineAnswer,
	searchAnswer,
	symbolAnswer,
	taskContextAnswer,
	usagesAnswer,
} from "./arbitrary-answers.ts";
import { coverage, fakeIndex, file, NOW, usage } from "./fake-index.ts";

type Answers = Parameters<typeof fakeIndex>[0];

async function answerOf<Name extends keyof ToolCalls>(
	name: Name,
	call: ToolCalls[Name],
	answers: Answers,
	maxBytes: number,
	blobs: Parameters<typeof runTool>[2]["delivery"]["blobs"] = keepAnything,
) {
	const index: CodeIndex = fakeIndex(answers);
	const project = new CodeProject({
		root: "/project",
		confirmIndex: true,
		open: async () => index,
	});
	return await runTool(name, call, {
		project,
		paths: projectPaths("/project", "/project/packages/web", () => true),
		caller: {},
		delivery: { maxBytes, blobs },
		now: () => NOW,
	});
}

const keepAnything = {
	keep: async () => ({
		kind: "kept" as const,
		blob: {
			id: "a".repeat(64) as never,
			path: `/home/user/.pi/cache/pi-kota/blobs/${"a".repeat(64)}.txt`,
		},
	}),
};
const keepFar = {
	keep: async () => ({
		kind: "kept" as const,
		blob: { id: "a".repeat(64) as never, path: `/${"very/deep/日本/".repeat(100)}x.txt` },
	}),
};
const keepNothing = {
	keep: async () => ({ kind: "not-kept" as const, why: "no space left\n".repeat(200) }),
};

const budget = fc.oneof(fc.constant(5000), fc.integer({ min: 500, max: 50_000 }), fc.constant(500));
const blobs = fc.constantFrom(keepAnything, keepFar, keepNothing);

describe("every answer", () => {
	const law = <Answer>(
		answer: fc.Arbitrary<Answer>,
		ask: (
			answer: Answer,
			maxBytes: number,
			store: typeof keepAnything,
		) => ReturnType<typeof answerOf>,
	) =>
		fc.assert(
			fc.asyncProperty(answer, budget, blobs, async (given, maxBytes, store) => {
				const { text, details } = await ask(given, maxBytes, store as typeof keepAnything);
				expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxBytes);
				expect(text.isWellFormed()).toBe(true);
				expect(text).not.toContain("\ufffd\ufffd\ufffd\ufffd\ufffd");
				expect(text.replaceAll(/[\n\t]/g, "")).not.toMatch(/\p{Cc}/u);
				if (details.truncated) expect(details.excerptBytes).toBe(Buffer.byteLength(text));
				else expect(details.originalBytes).toBe(Buffer.byteLength(text));
			}),
			{ numRuns: runs(40) },
		);

	test("of kota_search is within its budget", () =>
		law(
			fc.tuple(
				searchAnswer,
				fc.constantFrom("paths" as const, "compact" as const, "snippet" as const),
			),
			([answer, output], maxBytes, store) =>
				answerOf(
					"kota_search",
					{ query: "find this", output },
					{ search: async () => answer },
					maxBytes,
					store,
				),
		));

	test("of kota_deps is within its budget", () =>
		law(depsAnswer, (answer, maxBytes, store) =>
			answerOf(
				"kota_deps",
				{ file_path: "a.ts", depth: 3 },
				{ dependencies: async () => answer },
				maxBytes,
				store,
			),
		));

	test("of kota_outline is within its budget", () =>
		law(outlineAnswer, (answer, maxBytes, store) =>
			answerOf(
				"kota_outline",
				{ target: "no/such.ts" },
				{ outline: async () => answer },
				maxBytes,
				store,
			),
		));

	test("of kota_symbol is within its budget", () =>
		law(symbolAnswer, (answer, maxBytes, store) =>
			answerOf("kota_symbol", { symbol: "x" }, { symbol: async () => answer }, maxBytes, store),
		));

	test("of kota_usages is within its budget", { tags: "slow" }, () =>
		law(usagesAnswer, (answer, maxBytes, store) =>
			answerOf("kota_usages", { symbol: "x" }, { usages: async () => answer }, maxBytes, store),
		),
	);

	test("of kota_impact is within its budget", () =>
		law(impactAnswer, (answer, maxBytes, store) =>
			answerOf(
				"kota_impact",
				{ files_to_modify: ["a.ts"] },
				{ impact: async () => answer },
				maxBytes,
				store,
			),
		));

	test("of kota_task_context is within its budget", () =>
		law(taskContextAnswer, (answer, maxBytes, store) =>
			answerOf(
				"kota_task_context",
				{ files: ["a.ts"], include_symbols: true },
				{ taskContext: async () => answer },
				maxBytes,
				store,
			),
		));
});

describe("a large project", () => {
	const paths = Array.from(
		{ length: 10_000 },
		(_, at) => `packages/p${at % 97}/src/deep/file-${at}.ts`,
	);

	test("with 10,000 dependents is told in 5,000 bytes: numbers, folders and the nearest files", async () => {
		const dependents = paths.map((path, at) => file(path, { depth: 1 + (at % 3) }));
		const { text, details } = await answerOf(
			"kota_deps",
			{ file_path: "a.ts", depth: 3 },
			{
				dependencies: async () => ({
					file: "a.ts",
					dependents,
					dependencies: [],
					cycles: [paths],
					unresolved: [],
					external: [],
					coverage: coverage({ files: 10_000 }),
				}),
			},
			5000,
		);
		expect(Buffer.byteLength(text)).toBeLessThanOrEqual(5000);
		expect(Buffer.byteLength(text)).toBeGreaterThan(4000);
		expect(text).toContain("10,000 dependents");
		expect(text).toMatch(/^dependents by folder:$/m);
		expect(text).toContain("file-0.ts");
		expect(details).toMatchObject({ truncated: true });
	});

	test("with a symbol used 5,000 times is told in 5,000 bytes", async () => {
		const usages = Array.from({ length: 5000 }, (_, at) => usage(paths[at >> 2] ?? "", at + 1));
		const { text } = await answerOf(
			"kota_usages",
			{ symbol: "render" },
			{
				usages: async () => ({
					symbol: "render",
					definitions: [
						{
							path: "src/render.ts",
							line: 3,
							column: 17,
							kind: "function",
							exported: true,
							signature: "export function render(): void",
							usages,
						},
					],
					coverage: coverage({ files: 10_000 }),
				}),
			},
			5000,
		);
		expect(Buffer.byteLength(text)).toBeLessThanOrEqual(5000);
		expect(Buffer.byteLength(text)).toBeGreaterThan(4000);
		expect(text).toContain("5,000 usages in 1,250 files");
		expect(text).toMatch(/file-0\.ts {2}call 1, 2, 3, 4/);
	});
});
