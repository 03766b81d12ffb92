/** Runs the end-to-end tests on the next pi: `npm run test:pi-next [-- vitest arguments]`. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { fetchPiNext, piNext } from "./fetch-pi-next.ts";

if (!(await fetchPiNext())) {
	console.error(
		[
			"",
			"=".repeat(72),
			`WARNING: pi ${piNext.version} could not be downloaded.`,
			"The end-to-end tests were NOT run on it. Nothing is known to be broken,",
			"and nothing is known to work: run `npm run test:pi-next` again later.",
			"=".repeat(72),
			"",
		].join("\n"),
	);
	process.exit(0);
}
process.exit(runTests(process.argv.slice(2)));

function runTests(args: string[]): number {
	const root = fileURLToPath(new URL("../../", import.meta.url));
	const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
	const command = [vitest, "run", "--mode", "full", "test/e2e", ...args];
	const bundle = join(piNext.folder, "dist", "bundle", "index.js");
	const { status } = spawnSync(process.execPath, command, {
		cwd: root,
		stdio: "inherit",
		env: { ...process.env, PI_SDK: pathToFileURL(bundle).href },
	});
	return status ?? 1;
}
