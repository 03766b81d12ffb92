import { describe, expect, test } from "vitest";
import { ranksOf } from "../../../src/codeindex/queries/graph.ts";
import { indexProject, type ProjectFiles } from "../memory-project.ts";

describe("ranks of files", () => {
	const files: ProjectFiles = {
		"hub.ts": "export const hub = 1;",
		"barrel.ts": "export * from './hub';",
		...Object.fromEntries(
			Array.from({ length: 8 }, (_, n) => [`user${n}.ts`, "import { hub } from './barrel'; hub;"]),
		),
		"helper.ts": "export const help = 1;",
		...Object.fromEntries(
			Array.from({ length: 8 }, (_, n) => [
				`test/t${n}.test.ts`,
				"import { help } from '../helper'; help;",
			]),
		),
	};
	const rankOf = (project: ProjectFiles) => {
		const reader = indexProject(project);
		const ranks = ranksOf(reader);
		return (path: string) => ranks.get(reader.fileAt(path)?.id as never) ?? Number.NaN;
	};

	test("what everything rests on has the highest ranks, also behind a barrel", () => {
		const rank = rankOf(files);
		expect(rank("barrel.ts")).toBe(1);
		expect(rank("hub.ts")).toBeGreaterThan(0.9);
		expect(rank("user0.ts")).toBeLessThan(0.2);
		expect(rank("user0.ts")).toBe(rank("user7.ts"));
	});

	test("tests lend less weight than other files", () => {
		const rank = rankOf(files);
		expect(rank("helper.ts")).toBeLessThan(rank("barrel.ts"));
		expect(rank("helper.ts")).toBeGreaterThan(rank("user0.ts"));
	});

	test("a project in a circle, and one of a single file, have ranks too", () => {
		const circle = rankOf({ "a.ts": "import './b';", "b.ts": "import './a';" });
		expect([circle("a.ts"), circle("b.ts")]).toEqual([1, 1]);
		expect(rankOf({ "a.ts": "" })("a.ts")).toBe(1);
	});
});
