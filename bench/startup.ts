/**
 * The time that the extension adds to pi's start: from the start of pi's process in RPC mode to its first answer, with and
 * without it. And the time of `strata` commands, from the start of Node to its end.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PiProcess } from "../test/support/pi-process.ts";
import { buildPackage } from "./startup/build-package.ts";
import {
	type Line,
	median,
	missing,
	options,
	report,
	rounded,
	sized,
	tempFolder,
} from "./support.ts";

const rounds = sized(15, 1);
const warmup = sized(2, 0);

const project = fileURLToPath(new URL("..", import.meta.url));
const folder = tempFolder();
const agentDir = join(folder, "agent");
const cwd = join(folder, "project");
for (const dir of [agentDir, cwd]) mkdirSync(dir);

/** Ways to start pi. "Cold" is the first start after an install: nothing is transpiled yet. */
const cold = { JITI_FS_CACHE: "false" };
const source = join(project, "pi-extension.ts");
const setups: Record<string, { extension?: string; env?: Record<string, string> }> = {
	none: {},
	"source, warm": { extension: source },
};
if (options.quick)
	missing("the cold start and the compiled package", "compiling takes longer than a quick run");
else {
	const compiled = join(buildPackage(folder), "pi-extension.ts");
	setups["compiled package, warm"] = { extension: compiled };
	setups["source, cold"] = { extension: source, env: cold };
	setups["compiled package, cold"] = { extension: compiled, env: cold };
}
const strata = join(
	options.quick ? project : join(folder, "node_modules", "pi-strata"),
	"bin",
	"strata.js",
);
const targets: Record<string, number> = { "source, warm": 150, "compiled package, warm": 150 };

const times = Object.fromEntries(Object.keys(setups).map((name) => [name, [] as number[]]));
for (let round = 0; round < warmup + rounds; round++) {
	const names = Object.keys(setups);
	// Rounds rotate the order, so that none always follows the same.
	const order = [...names.slice(round % names.length), ...names.slice(0, round % names.length)];
	for (const name of order) {
		const ms = await startMs(setups[name] ?? {});
		if (round >= warmup) times[name]?.push(ms);
	}
}

const none = times.none ?? [];
const lines = Object.keys(setups)
	.filter((name) => name !== "none")
	.map((name): Line => {
		const own = times[name] ?? [];
		return {
			case: `added to pi's start: ${name}`,
			unit: "ms",
			value: median(own.map((ms, round) => ms - (none[round] ?? 0))),
			...(name in targets && { target: targets[name] }),
			baseline: { name: "pi's own start", value: median(none) },
			from: { "with ms": rounded(median(own)), rounds },
		};
	});
report([...lines, ...commandLines()]);

/** Commands of the package (in a quick run: of the source), compared with a Node that does nothing. */
function commandLines(): Line[] {
	writeFileSync(join(cwd, "package.json"), "{}");
	writeFileSync(join(cwd, "a.ts"), "export function area() { return 1; }\n");
	writeFileSync(join(cwd, "b.ts"), 'import { area } from "./a.ts";\nexport const b = area();\n');
	const env = {
		...process.env,
		XDG_CACHE_HOME: join(folder, "cache"),
		PI_CODING_AGENT_DIR: agentDir,
	};
	const runMs = (args: readonly string[]) => {
		const start = performance.now();
		const { status, stderr } = spawnSync(process.execPath, args, { cwd, env, encoding: "utf8" });
		if (status !== 0) throw new Error(`${args.join(" ")}: ${stderr}`);
		return performance.now() - start;
	};
	runMs([strata, "index"]);
	const commands = ["--version", "--help", "usages area"];
	const taken = new Map<string, number[]>(["node", ...commands].map((name) => [name, []]));
	for (let round = 0; round < warmup + rounds; round++) {
		for (const [name, all] of taken) {
			const ms = runMs(name === "node" ? ["-e", "0"] : [strata, ...name.split(" ")]);
			if (round >= warmup) all.push(ms);
		}
	}
	const node = { name: "node -e 0", value: median(taken.get("node") ?? []) };
	return commands.map((command) => ({
		case: `strata ${command}`,
		unit: "ms",
		value: median(taken.get(command) ?? []),
		...(command.startsWith("--") && { target: 100 }),
		baseline: node,
		from: { rounds },
	}));
}

async function startMs({ extension, env }: (typeof setups)[string]): Promise<number> {
	const args = extension ? ["--extension", extension] : [];
	const start = performance.now();
	const pi = new PiProcess({ args, cwd, agentDir, timeoutMs: 120_000, ...(env && { env }) });
	await pi.request({ type: "get_state" });
	const ms = performance.now() - start;
	const { data } = await pi.request({ type: "get_commands" });
	await pi.close();
	if (JSON.stringify(data).includes('"strata"') !== (extension !== undefined)) {
		throw new Error(`pi has ${extension ? "not " : ""}loaded the extension`);
	}
	return ms;
}
