import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { checkUse } from "../../src/cli/doctor-pi.ts";
import { tempDir } from "../support/temp.ts";

const own = fileURLToPath(new URL("../..", import.meta.url));

async function found(agentDir: string, name: string, cwd = tempDir()) {
	const findings = await checkUse({ agentDir, cwd, serverFolder: join(agentDir, "server") });
	return findings.find((finding) => finding.name === name);
}

function settings(folder: string, value: object): string {
	mkdirSync(folder, { recursive: true });
	writeFileSync(join(folder, "settings.json"), JSON.stringify(value));
	return folder;
}

describe("strata doctor says whether pi loads the extension", () => {
	test.each([
		["a local path", { packages: [own] }],
		["a package with filters", { packages: [{ source: own, extensions: [] }] }],
		["the package of npm", { packages: ["npm:pi-strata@0.1.0"] }],
		["a repository", { packages: ["git:github.com/someone/pi-strata"] }],
		["a file", { extensions: [join(own, "pi-extension.ts")] }],
	])("by %s", async (_, value) => {
		const finding = await found(settings(tempDir(), value), "pi's extension");
		expect(finding).toMatchObject({ ok: true, note: expect.stringContaining("pi loads ") });
	});

	test("by a link among the extensions, or by the project's settings", async () => {
		const agentDir = tempDir();
		mkdirSync(join(agentDir, "extensions"));
		symlinkSync(own, join(agentDir, "extensions", "strata"), "junction");
		expect(await found(agentDir, "pi's extension")).toMatchObject({ ok: true });
		const cwd = tempDir();
		settings(join(cwd, ".pi"), { packages: [own] });
		expect(await found(tempDir(), "pi's extension", cwd)).toMatchObject({ ok: true });
	});

	test.each([
		["nothing", {}],
		["another package", { packages: ["npm:pi-stratagem", "npm:other"] }],
		["a damaged list", { packages: "pi-strata", extensions: [7, null] }],
	])("and how to install it, with %s", async (_, value) => {
		const finding = await found(settings(tempDir(), value), "pi's extension");
		expect(finding).toMatchObject({ ok: false, note: expect.stringContaining("pi install") });
	});
});

describe("strata doctor names the models", () => {
	test("by provider, without their keys", { tags: "slow" }, async () => {
		const agentDir = tempDir();
		const model = { id: "m-1", contextWindow: 1000, maxTokens: 10 };
		const provider = { baseUrl: "http://127.0.0.1:9", api: "anthropic-messages", apiKey: "hidden" };
		const models = { providers: { mine: { ...provider, models: [model] } } };
		writeFileSync(join(agentDir, "models.json"), JSON.stringify(models));
		const finding = await found(agentDir, "models");
		expect(finding).toMatchObject({ ok: true, note: expect.stringContaining("mine (1)") });
		expect(finding?.note).not.toContain("hidden");
	});
});
