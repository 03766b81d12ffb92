/** Runs the tests with real agents: `npm run test:agents [-- vitest arguments]`. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fetchAgent, isMissing } from "./fetch.ts";
import { agentPackages, isFetched } from "./packages.ts";

/** A network with loopback only, in which agents reach no vendor. */
const ISOLATED = ["unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"];

process.exit(await main(process.argv.slice(2)));

async function main(args: readonly string[]): Promise<number> {
	for (const agent of agentPackages) {
		const trouble = await fetchAgent(agent);
		if (trouble === undefined) continue;
		console.log(`Not tested: ${agent.name} cannot be fetched (${trouble}).`);
		if (!isMissing(trouble)) break; // the registry fails for the others, too
	}
	if (!agentPackages.some(isFetched)) {
		console.log("test:agents skipped: no agent can be had here (Linux x64 with a registry only).");
		return 0;
	}
	const root = fileURLToPath(new URL("../../../", import.meta.url));
	const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
	const tests = [process.execPath, vitest, "run", "--config", "vitest.agents.config.ts", ...args];
	const [program = "", ...words] = canIsolate() ? [...ISOLATED, ...tests] : tests;
	return spawnSync(program, words, { cwd: root, stdio: "inherit" }).status ?? 1;
}

function canIsolate(): boolean {
	const [program = "", ...words] = [...ISOLATED, "true"];
	const isIsolated = spawnSync(program, words, { stdio: "ignore" }).status === 0;
	if (!isIsolated) {
		console.log("No network namespace here: the agents' own switches keep them on loopback.");
	}
	return isIsolated;
}
