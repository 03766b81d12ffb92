import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { DEMO_MODEL, openModels } from "../../../src/server/demo/demo-provider.ts";
import { atEnd, tempDir } from "../../support/temp.ts";

const KEY = JSON.stringify({ anthropic: { type: "api_key", key: "sk-not-a-key" } });

describe("the demo", () => {
	test("takes the place of models where there are none", async () => {
		const { models, warnings } = await open({});
		expect(models.isDemo).toBe(true);
		expect(warnings).toEqual([]);
	});

	test("never takes the place of models that are there", async () => {
		const { models } = await open({ "auth.json": KEY });
		expect(models.isDemo).toBe(false);
		const available = await models.modelRuntime.getAvailable();
		expect(available.length).toBeGreaterThan(0);
		expect(available.map(({ provider }) => provider)).not.toContain(DEMO_MODEL.provider);
	});

	test.each(["models.json", "auth.json"])(
		"does not hide that the user's %s cannot be read",
		async (name) => {
			const { models, warnings } = await open({ [name]: '{"providers": {"mine": {' });
			expect(models.isDemo).toBe(false);
			expect(warnings).toEqual([expect.stringContaining(name)]);
		},
	);
});

async function open(files: Record<string, string>) {
	process.env.PI_OFFLINE = "1";
	const agentDir = tempDir();
	for (const [name, text] of Object.entries(files)) writeFileSync(join(agentDir, name), text);
	const warnings: string[] = [];
	const warn = (line: string) => void warnings.push(line);
	const models = await openModels({ agentDir, demo: "auto", warn });
	atEnd(() => models.close());
	return { models, warnings };
}
