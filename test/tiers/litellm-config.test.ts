import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readLitellmSettings } from "../../src/tiers/litellm-config.ts";
import { tempDir } from "../support/temp.ts";

function projectWith(content: string | Uint8Array): string {
	const project = tempDir();
	writeFileSync(join(project, "litellm.json"), content);
	return project;
}

describe("In litellm.json", () => {
	test("cacheMinTokens and cacheBufferMultiplier are read, and other keys are nobody's business", async () => {
		const content = JSON.stringify({
			cacheMinTokens: 2048,
			cacheBufferMultiplier: 1.1,
			env: { KEY: "sk-secret" },
		});
		expect(await readLitellmSettings(projectWith(content))).toEqual({
			settings: { cacheMinTokens: 2048, cacheBufferMultiplier: 1.1 },
			warnings: [],
		});
	});

	test("a key that is missing is absent, and so is everything without the file", async () => {
		expect(await readLitellmSettings(projectWith('\uFEFF{"cacheMinTokens":0}'))).toEqual({
			settings: { cacheMinTokens: 0 },
			warnings: [],
		});
		expect(await readLitellmSettings(tempDir())).toEqual({ settings: {}, warnings: [] });
		expect(await readLitellmSettings(join(projectWith("{}"), "litellm.json"))).toEqual({
			settings: {},
			warnings: [],
		});
	});

	test("a value that makes no sense is a warning, and the other still counts", async () => {
		const content = '{"cacheMinTokens":"sk-secret","cacheBufferMultiplier":2}';
		expect(await readLitellmSettings(projectWith(content))).toEqual({
			settings: { cacheBufferMultiplier: 2 },
			warnings: ["litellm.json: cacheMinTokens must be a whole number ≥ 0; the value is ignored"],
		});
		const negative = '{"cacheMinTokens":-5,"cacheBufferMultiplier":1e9}';
		expect((await readLitellmSettings(projectWith(negative))).warnings).toHaveLength(2);
	});

	test.each<[string, (project: string) => void, string]>([
		["not JSON", (at) => writeFileSync(join(at, "litellm.json"), "sk-secret"), "is not valid JSON"],
		["a list", (at) => writeFileSync(join(at, "litellm.json"), "[]"), "is not a JSON object"],
		["a folder", (at) => mkdirSync(join(at, "litellm.json")), "is not a regular file"],
		[
			"too big",
			(at) => {
				writeFileSync(join(at, "litellm.json"), "{}");
				truncateSync(join(at, "litellm.json"), 2 ** 20 + 1);
			},
			"is larger than 1048576 bytes",
		],
		["a link", (at) => symlinkSync("/dev/zero", join(at, "litellm.json")), "is not a regular file"],
	])("a file that is %s is one warning", async (_name, make, why) => {
		const project = tempDir();
		make(project);
		expect(await readLitellmSettings(project)).toEqual({
			settings: {},
			warnings: [`litellm.json: ${why}; the file is ignored`],
		});
	});
});
