import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { describePi, explainPi, installedPi, serveFault } from "../../src/cli/installed-pi.ts";
import { SUPPORTED_PI } from "../../src/core/pi-version.ts";
import { tempDir } from "../support/temp.ts";

test("a pi that lacks what we need is named, with those that have it", () => {
	const error = new SyntaxError(
		"The requested module '@earendil-works/pi-coding-agent' does not provide an export named 'CONFIG_DIR_NAME'",
	);
	expect(explainPi(error, () => "0.74.2")).toMatchObject({
		message: expect.stringContaining(
			`pi 0.74.2 was found, but it is not supported (supported: ${SUPPORTED_PI})`,
		),
		cause: error,
	});
	expect(String(explainPi(error))).toMatch(/pi \d+\.\d+\.\d+ was found/);
});

test("other errors stay as they are", () => {
	const own = new SyntaxError("Unexpected token");
	expect(explainPi(own)).toBe(own);
	const other = new Error("@earendil-works/pi-coding-agent is tired");
	expect(explainPi(other)).toBe(other);
});

test("a pi is found with its version, its folder and what it lacks", () => {
	const project = projectWith({ version: "1.5.0", dependencies: { chalk: "6.0.0" } });
	expect(installedPi(project.module)).toEqual({
		version: "1.5.0",
		folder: project.pi,
		missing: ["chalk", "@earendil-works/pi-tui"],
	});
	expect(installedPi(pathToFileURL(join(tempDir(), "main.js")).href)).toBeUndefined();
	expect(installedPi()).toMatchObject({ version: "0.87.1", missing: [] });
});

test.each(["", "{", "null", '{"version":1}'])(
	"a pi whose package.json is %j is of an unknown version",
	(text) => {
		const project = projectWith({});
		writeFileSync(join(project.pi, "package.json"), text);
		const found = installedPi(project.module);
		expect(found).toMatchObject({ version: "of an unknown version", folder: project.pi });
		expect(serveFault(found)).toMatch(
			/^pi of an unknown version was found, but it is not supported /,
		);
	},
);

test.each([
	[
		undefined,
		/^pi was not found next to pi-strata \(supported: .*\); run "npm ci" in the folder of pi-strata$/,
	],
	[
		{ version: "0.74.2" },
		/^pi 0\.74\.2 was found, .* \(supported: .*\); run "npm ci" in the folder of pi-strata$/,
	],
	[
		{ version: "2.0.0" },
		/^pi 2\.0\.0 was found, .* \(supported: .*\); run "npm ci" in the folder of pi-strata$/,
	],
	[
		{ version: "1.5.0", missing: ["a", "b", "c", "d", "e"] },
		/^pi 1\.5\.0 in \/pi is incomplete \(missing: a, b, c and 2 more\); run "npm ci" in the folder of pi-strata$/,
	],
])("serve says in one sentence what it needs: %j", (pi, sentence) => {
	const found = pi && { folder: "/pi", missing: [], ...pi };
	expect(serveFault(found)).toMatch(sentence);
	const { ok, note } = describePi(found);
	expect(ok).toBe(false);
	expect(note).toBe(
		`${serveFault(found)} (only "strata serve" needs it; everything else works, including the extension in pi)`,
	);
});

test.each([
	["0.87.1", true, "0.87.1 in /pi"],
	["1.5.0", true, "1.5.0 in /pi"],
	["1.6.0", false, `1.6.0 in /pi, which is untested (supported: ${SUPPORTED_PI})`],
])("serve runs on pi %s, and doctor is content with it: %s", (version, ok, note) => {
	const found = { version, folder: "/pi", missing: [] };
	expect(serveFault(found)).toBeUndefined();
	expect(describePi(found)).toEqual({ ok, note });
});

test("of a pi behind a link, what it depends on is looked for beside the pi itself", () => {
	const { pi } = projectWith({ version: "0.87.1", dependencies: { chalk: "6.0.0" } });
	addPackage(join(pi, "..", ".."), "chalk", {});
	const modules = join(tempDir(), "node_modules");
	addPackage(modules, "@earendil-works/pi-tui", {});
	symlinkSync(pi, join(modules, "@earendil-works", "pi-coding-agent"), "junction");
	expect(installedPi(pathToFileURL(join(modules, "..", "main.js")).href)).toEqual({
		version: "0.87.1",
		folder: pi,
		missing: [],
	});
});

/** A project with a pi that has nothing but its package.json. */
function projectWith(manifest: object): { module: string; pi: string } {
	const folder = tempDir();
	const pi = addPackage(join(folder, "node_modules"), "@earendil-works/pi-coding-agent", manifest);
	return { module: pathToFileURL(join(folder, "main.js")).href, pi };
}

function addPackage(modules: string, name: string, manifest: object): string {
	const folder = join(modules, name);
	mkdirSync(folder, { recursive: true });
	writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
	return folder;
}
