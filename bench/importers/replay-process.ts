/** Runs `strata replay <folder> --json`, and reports what that took to the process that started it. */
import { main } from "../../src/cli/main.ts";

export interface ReplayCost {
	readonly seconds: number;
	readonly cpuSeconds: number;
	readonly peakMegabytes: number;
	readonly requests: number;
}

const [, , folder = ""] = process.argv;
let output = "";
const status = await main(["replay", folder, "--json"], {
	cwd: folder,
	env: {},
	print: (line) => {
		output += line;
	},
	write: () => {},
	printError: console.error,
});
if (status !== 0) process.exit(status);
const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
const cost: ReplayCost = {
	seconds: performance.now() / 1000,
	cpuSeconds: (userCPUTime + systemCPUTime) / 1e6,
	peakMegabytes: (maxRSS * 1024) / 1e6,
	requests: JSON.parse(output).requests,
};
process.send?.(cost);
