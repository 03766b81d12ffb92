import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const bin = fileURLToPath(new URL("../../bin/strata.js", import.meta.url));

/** Prints the address of every file that Node loads as a module, at the end and on standard error. */
const LISTING = `data:text/javascript,${encodeURIComponent(`
	import { registerHooks } from "node:module";
	const loaded = [];
	registerHooks({
		load(url, context, next) {
			if (url.startsWith("file:")) loaded.push(url);
			return next(url, context);
		},
	});
	process.on("exit", () => console.error(loaded.join("\\n")));
`)}`;

async function modulesOf(...words: string[]): Promise<string[]> {
	const { stderr } = await promisify(execFile)(process.execPath, [
		"--import",
		LISTING,
		bin,
		...words,
	]);
	return stderr.trim().split("\n");
}

test.each(["--version", "--help"])(
	"strata %s loads 40 modules or fewer, and no package",
	async (word) => {
		const modules = await modulesOf(word);
		expect(modules.length).toBeLessThanOrEqual(40);
		expect(modules.filter((url) => url.includes("/node_modules/"))).toEqual([]);
	},
);

test.each(["usages", "serve", "read", "replay", "clean"])(
	"the help of %s needs no package",
	{ tags: "slow" },
	async (name) => {
		const modules = await modulesOf("help", name);
		expect(modules.filter((url) => url.includes("/node_modules/"))).toEqual([]);
	},
);
