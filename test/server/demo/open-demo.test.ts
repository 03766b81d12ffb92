import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openModels } from "../../../src/server/demo/open-demo.ts";
import { createSampleProjects } from "../../../src/server/demo/sample-projects.ts";
import { atEnd, tempDir } from "../../support/temp.ts";

const KEY = JSON.stringify({ anthropic: { type: "api_key", key: "sk-not-a-key" } });

describe("the demo", () => {
	test("takes the place of models where there are none", async () => {
		const { models, warnings } = await open({});
		expect(models.sampleProjects).toBeDefined();
		expect(warnings).toEqual([]);
	});

	test("never takes the place of models that are there", async () => {
		const { models, demoFolder } = await open({ "auth.json": KEY });
		expect(models.sampleProjects).toBeUndefined();
		expect((await models.modelRuntime.getAvailable()).length).toBeGreaterThan(0);
		expect(readdirSync(demoFolder)).toEqual([]);
	});

	test.each(["models.json", "auth.json"])(
		"does not hide that the user's %s cannot be read",
		async (name) => {
			const { models, warnings } = await open({ [name]: '{"providers": {"mine": {' });
			expect(models.sampleProjects).toBeUndefined();
			expect(warnings).toEqual([expect.stringContaining(name)]);
		},
	);
});

async function open(files: Record<string, string>) {
	process.env.PI_OFFLINE = "1";
	const agentDir = tempDir();
	const demoFolder = tempDir();
	for (const [name, text] of Object.entries(files)) writeFileSync(join(agentDir, name), text);
	const warnings: string[] = [];
	const warn = (line: string) => void warnings.push(line);
	const sampleProjects = createSampleProjects(join(demoFolder, "projects"), warn);
	const models = await openModels(agentDir, { demo: "auto", sampleProjects, warn });
	atEnd(() => models.close());
	return { models, warnings, demoFolder };
}
