/** `npm run bench -- <name> [arguments]`: runs bench/<name>.ts; without a name, lists them. */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("./", import.meta.url));
const names = readdirSync(folder)
	.filter((file) => file.endsWith(".ts") && file !== "run.ts" && file !== "support.ts")
	.map((file) => file.slice(0, -3));
const [name, ...rest] = process.argv.slice(2);

if (name === undefined || !names.includes(name)) {
	console.error(`usage: npm run bench -- <name> [arguments]\nbenchmarks: ${names.join(", ")}`);
	process.exit(name === undefined ? 0 : 2);
}
const { status } = spawnSync(process.execPath, [`${folder}${name}.ts`, ...rest], {
	stdio: "inherit",
});
process.exitCode = status ?? 1;
