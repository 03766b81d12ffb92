import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { runPi } from "../support/pi-process.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("a word that /strata does not know is answered in print mode too", async () => {
	const { stdout } = await runPi(["-e", join(root, "pi-extension.ts"), "-p", "/strata foo"]);
	expect(stdout).toContain('/strata knows no "foo": use /strata or /strata cost');
});

test("nothing that steers a terminal is printed", async () => {
	const word = "\u001b]0;owned\u0007\u009b31m\u202e";
	const { stdout } = await runPi(["-e", join(root, "pi-extension.ts"), "-p", `/strata ${word}`]);
	expect(stdout).toContain('/strata knows no "\\u001b]0;owned\\u0007\\u009b31m\\u202e": use');
	expect(stdout).not.toMatch(/[^\P{Cc}\n]|\u202e/u);
});
