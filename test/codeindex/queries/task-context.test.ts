import { describe, expect, test } from "vitest";
import { dependencies, taskContext } from "../../../src/codeindex/queries/dependencies.ts";
import { indexProject } from "../memory-project.ts";

const reader = indexProject({
	"src/base.ts": "export const base = 1;",
	"src/helper.ts": "export const help = 1;",
	"src/target.ts":
		"import { base } from './base'; import { help } from './helper';\nexport function target() { return base + help; }\nfunction own() {}\nown();",
	"src/hub.ts":
		"import { base } from './base'; import { target } from './target'; export const hub = target() + base;",
	"src/leaf.ts": "import { target } from './target'; target();",
	"src/a.ts": "import { hub } from './hub'; hub;",
	"src/b.ts": "import { hub } from './hub'; hub;",
	"test/target.test.ts": "import { target } from '../src/target'; target();",
});

describe("task context", () => {
	test("dependencies and dependents come most important first, tests apart", () => {
		expect(taskContext(reader, { files: ["src/target.ts"] })).toEqual({
			targets: [
				{
					path: "src/target.ts",
					dependencies: ["src/base.ts", "src/helper.ts"],
					dependentCount: 3,
					symbols: [],
				},
			],
			impacted: [
				{ path: "src/hub.ts", depth: 1, kinds: ["value"], isTest: false },
				{ path: "src/leaf.ts", depth: 1, kinds: ["value"], isTest: false },
				{ path: "src/a.ts", depth: 2, kinds: ["value"], isTest: false, via: "src/hub.ts" },
				{ path: "src/b.ts", depth: 2, kinds: ["value"], isTest: false, via: "src/hub.ts" },
			],
			impactedCount: 4,
			tests: ["test/target.test.ts"],
			unknown: [],
		});
	});

	test("files that are all unknown are an error, as for dependencies", () => {
		const files = ["lib/target.ts", "src/gone.ts"];
		const unknown = "lib/target.ts is not in the index. Did you mean src/target.ts";
		expect(() => taskContext(reader, { files })).toThrow(unknown);
		expect(() => dependencies(reader, { path: "lib/target.ts" })).toThrow(unknown);
		expect(() => taskContext(reader, { files: ["../x.ts"] })).toThrow("outside of the project");
	});

	test("symbols are listed on request, the list of files is bounded, and unknown paths are named", () => {
		const answer = taskContext(reader, {
			files: ["src/target.ts", "src/gone.ts", "src/target.ts"],
			includeSymbols: true,
			includeTests: false,
			maxImpactedFiles: 1,
		});
		expect(answer.targets).toHaveLength(1);
		expect(answer.targets[0]?.symbols.map(({ name, exported }) => [name, exported])).toEqual([
			["target", true],
			["own", false],
		]);
		expect(answer.impacted.map(({ path }) => path)).toEqual(["src/hub.ts"]);
		expect(answer.impactedCount).toBe(4);
		expect(answer.tests).toEqual([]);
		expect(answer.unknown).toEqual(["src/gone.ts"]);
	});
});
