import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commands, main } from "../../src/cli/main.ts";
import { tempDir } from "../support/temp.ts";

async function scriptFor(...words: string[]) {
	const out: string[] = [];
	const status = await main(["completions", ...words], {
		...{ cwd: tempDir(), env: {}, write: () => {} },
		print: (line) => void out.push(line),
		printError: (line) => void out.push(line),
	});
	return { status, text: out.join("\n") };
}

test("bash completes commands and the options of each, and leaves files to the shell", {
	tags: "slow",
}, async () => {
	const file = join(tempDir(), "strata.bash");
	writeFileSync(file, (await scriptFor("bash")).text);
	const offered = (...words: string[]) => {
		const script = `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _strata; echo "\${COMPREPLY[@]}"`;
		const args = ["--norc", "-c", script, file, "strata", ...words];
		return execFileSync("bash", args, { encoding: "utf8" }).trim().split(" ").sort();
	};
	expect(offered("us")).toEqual(["usage", "usages"]);
	expect(offered("impact", "--ch")).toEqual(["--changed"]);
	expect(offered("impact", "src")).toEqual([""]);
	expect(offered("help", "imp")).toEqual(["impact"]);
	expect(offered("completions", "")).toEqual(["bash", "fish", "zsh"]);
	expect(offered("setup", "c")).toEqual(["claude-code", "codex", "cursor"]);
	expect(offered("schema", "--")).toEqual(["--help"]);
	expect(offered("")).toEqual([...commands.map(({ name }) => name), "help"].sort());
});

test("zsh and fish get every command with its summary, and every option", async () => {
	for (const shell of ["zsh", "fish"]) {
		const { status, text } = await scriptFor(shell);
		expect(status).toBe(0);
		for (const { name, load } of commands) {
			expect(text).toContain(name);
			for (const option of Object.keys((await load()).options)) {
				expect(text).toMatch(new RegExp(`(?:--|-l )${option}\\b`));
			}
		}
	}
});

test("another shell is wrong usage", async () => {
	expect(await scriptFor("fisch")).toMatchObject({
		status: 2,
		text: expect.stringContaining('unknown shell "fisch"; known: bash, zsh, fish'),
	});
	expect(await scriptFor()).toMatchObject({ status: 2 });
});
