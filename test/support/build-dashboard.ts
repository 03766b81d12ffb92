import { fileURLToPath } from "node:url";
import { build } from "vite";
import { tempDir } from "./temp.ts";

/** Builds the dashboard into a folder of its own and returns the folder. */
export async function buildDashboard(): Promise<string> {
	const outDir = tempDir("page");
	const root = fileURLToPath(new URL("../../src/dashboard", import.meta.url));
	await build({ root, logLevel: "error", build: { outDir, emptyOutDir: true } });
	return outDir;
}
