import { expect, test } from "vitest";
import { CodeProject, projectPaths, runTool } from "../../src/code/index.ts";
import type { ToolCalls } from "../../src/code/tool-definitions.ts";
import { dependencies, taskContext } from "../../src/codeindex/queries/dependencies.ts";
import { indexProject } from "../codeindex/memory-project.ts";
import { coverage, fakeIndex, NOW } from "./fake-index.ts";

const reader = indexProject({ "src/a.ts": "export const a = 1;\n" });
const index = fakeIndex({
	dependencies: async (query) => ({ ...dependencies(reader, query), coverage: coverage() }),
	taskContext: async (query) => ({ ...taskContext(reader, query), coverage: coverage() }),
});

function ask<Name extends keyof ToolCalls>(name: Name, call: ToolCalls[Name]) {
	return runTool(name, call, {
		project: new CodeProject({ root: "/project", confirmIndex: true, open: async () => index }),
		paths: projectPaths("/project", "/project", () => true),
		caller: {},
		delivery: { maxBytes: 5000, blobs: { keep: async () => ({ kind: "not-kept", why: "" }) } },
		now: () => NOW,
	});
}

test("a task context of an unknown file is the same error as its dependencies", async () => {
	const unknown = "lib/a.ts is not in the index. Did you mean src/a.ts?";
	await expect(ask("kota_deps", { file_path: "lib/a.ts" })).rejects.toThrow(unknown);
	await expect(ask("kota_task_context", { files: ["lib/a.ts"] })).rejects.toThrow(unknown);
});

test("a task context of a known and an unknown file names the unknown one", async () => {
	const { text } = await ask("kota_task_context", { files: ["src/a.ts", "lib/a.ts"] });
	expect(text).toContain("src/a.ts: 0 dependents");
	expect(text).toContain("not in the index (1):\n  lib/a.ts");
});
