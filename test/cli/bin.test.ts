import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { tempDir } from "../support/temp.ts";

const bin = fileURLToPath(new URL("../../bin/strata.js", import.meta.url));
const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));

test.each(["24.21.0", "23.0.0", "22.19.0", "22.20.1"])("Node.js %s: it runs", async (version) => {
	expect(await runOn(version, packageWith("console.log('runs')"))).toMatchObject({
		code: 0,
		stdout: "runs\n",
	});
});

test.each(["22.18.9", "20.20.2", "9.99.0"])(
	"Node.js %s: one sentence, status 1, and nothing else is loaded",
	async (version) => {
		expect(await runOn(version, packageWith("console.log('loaded')"))).toEqual({
			code: 1,
			stdout: "",
			stderr: `strata: Node.js 22.19 or newer is needed, this is ${version}\n`,
		});
	},
);

test("in a clone the sentence says where a newer Node.js comes from", async () => {
	const { code, stderr } = await runOn("20.20.2", bin);
	expect(code).toBe(1);
	expect(stderr).toMatch(
		/^strata: Node\.js 22\.19 .* this is 20\.20\.2; "npm ci" installs one.*\n$/,
	);
});

test("a package that is missing is named in one sentence", async () => {
	expect(await runOn("24.21.0", packageWith('import "pi-strata-is-not-there"'))).toMatchObject({
		code: 1,
		stderr: expect.stringMatching(
			/^strata: .*'pi-strata-is-not-there'.*; install pi-strata again\n$/,
		),
	});
});

test("a module of ours that is missing is named in one sentence", async () => {
	expect(await runOn("24.21.0", packageWith('import "../core/gone.js"'))).toMatchObject({
		code: 1,
		stderr: expect.stringMatching(/^strata: .*gone\.js'?; install pi-strata again\n$/),
	});
});

test("own modules are those of the package's real folder, also through a link", async () => {
	const copy = packageWith('import { name } from "./other.js"; console.log(name)');
	writeFileSync(join(dirname(copy), "..", "dist", "cli", "other.js"), "export const name = 'it';");
	const link = join(tempDir(), "strata link.js");
	symlinkSync(copy, link);
	expect(await runOn(process.versions.node, link)).toMatchObject({ code: 0, stdout: "it\n" });
});

test("from a clone it runs the source", async () => {
	expect(await runOn(process.versions.node, bin, "--version")).toEqual({
		code: 0,
		stdout: `${manifest.version}\n`,
		stderr: "",
	});
});

test("the source of the command line can be started directly, too", async () => {
	const source = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
	expect(await runOn(process.versions.node, source, "--version")).toEqual({
		code: 0,
		stdout: `${manifest.version}\n`,
		stderr: "",
	});
});

/** A package as published, with this in place of its command line. */
function packageWith(main: string): string {
	const folder = tempDir();
	mkdirSync(join(folder, "dist", "cli"), { recursive: true });
	writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
	writeFileSync(
		join(folder, "dist", "cli", "main.js"),
		`${main}; export const runAtTerminal = () => {};`,
	);
	const copy = join(folder, "bin", "strata.js");
	cpSync(bin, copy);
	return copy;
}

/** Runs the file on a Node that says it is of this version. */
async function runOn(
	version: string,
	file: string,
	...words: string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
	const versions = `Object.defineProperty(process, "versions", { value: { node: "${version}" } })`;
	const args = ["--import", `data:text/javascript,${encodeURIComponent(versions)}`, file, ...words];
	return promisify(execFile)(process.execPath, args).then(
		(done) => ({ code: 0, ...done }),
		({ code, stdout, stderr }) => ({ code, stdout, stderr }),
	);
}
