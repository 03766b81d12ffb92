import { existsSync, readdirSync, statSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describeError } from "../core/errno.ts";

/** The dashboard's files, and what there is to say about them. */
export interface DashboardPage {
	/** Where the built files are, or would be. */
	readonly folder: string;
	/** Why there are none, and what to do; absent when they are there. */
	readonly missing?: string;
}

/**
 * Finds the built dashboard: beside this program in the package, in `dist` of a clone. In a clone it is built first if it
 * was not yet, or if its source is newer. Without the tools for that everything else works, and the result says so.
 */
export async function dashboardPage(onBuild: () => void): Promise<DashboardPage> {
	const here = fileURLToPath(new URL(".", import.meta.url));
	const packed = resolve(here, "..", "dashboard");
	if (isBuilt(packed)) return { folder: packed };
	const root = resolve(here, "..", "..");
	const source = join(root, "src", "dashboard");
	const folder = join(root, "dist", "dashboard");
	if (isBuilt(folder) && !isNewer([source, join(root, "src", "protocol")], folder))
		return { folder };
	try {
		const { build } = await import("vite");
		onBuild();
		// Elsewhere, then in its place: another server may be building too, or serving the old one.
		const fresh = `${folder}-${process.pid}`;
		await build({
			root: source,
			configFile: join(source, "vite.config.ts"),
			logLevel: "silent",
			build: { outDir: fresh },
		});
		await rm(folder, { recursive: true, force: true });
		await rename(fresh, folder).catch(() => rm(fresh, { recursive: true, force: true }));
		return { folder };
	} catch (error) {
		if (isBuilt(folder)) return { folder };
		const isAbsent = (error as { code?: unknown }).code === "ERR_MODULE_NOT_FOUND";
		const why = isAbsent ? "its build tools are not installed" : describeError(error);
		const help = "run `npm install --include=dev && npm run dashboard` in the folder of pi-strata";
		return { folder, missing: `there is no dashboard: ${why}; ${help}` };
	}
}

function isBuilt(folder: string): boolean {
	return existsSync(join(folder, "index.html")) && existsSync(join(folder, "assets"));
}

/** Whether something was written after the page was built. */
function isNewer(sources: readonly string[], built: string): boolean {
	const builtMs = statSync(join(built, "index.html")).mtimeMs;
	return sources.some((source) =>
		readdirSync(source, { recursive: true, withFileTypes: true }).some(
			(entry) => entry.isFile() && statSync(join(entry.parentPath, entry.name)).mtimeMs > builtMs,
		),
	);
}
