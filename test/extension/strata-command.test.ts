import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { runPi } from "../support/pi-process.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** What pi prints for a prompt. A whole pi starts for it, which takes a busy machine long. */
async function printed(prompt: string): Promise<string> {
	const args = ["-e", join(root, "pi-extension.ts"), "-p", prompt];
	const { stdout } = await runPi(args);
	return stdout;
}

describe("in print mode", () => {
	test("a word that /strata does not know is answered too", { tags: "slow" }, async () => {
		expect(await printed("/strata foo")).toContain(
			'unknown argument "foo": use /strata or /strata cost',
		);
	});

	test("nothing that steers a terminal is printed", { tags: "slow" }, async () => {
		const stdout = await printed("/strata \u001b]0;owned\u0007\u009b31m\u202e");
		expect(stdout).toContain('unknown argument "\\u001b]0;owned\\u0007\\u009b31m\\u202e": use');
		expect(stdout).not.toMatch(/[^\P{Cc}\n]|\u202e/u);
	});
});
