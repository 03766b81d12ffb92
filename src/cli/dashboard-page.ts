import { existsSync, readdirSync, statSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describeError } from "../core/errno.ts";

export interface DashboardPage {
	readonly folder: string;
	/** Why there are no built files and what to do; absent when there are. */
	readonly missing?: string;
}

/** Finds the built dashboard. A clone builds it first if it is missing or outdated. */
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
		// Builds elsewhere, then renames: another server may be building too, or serving the old page.
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

function isNewer(sources: readonly string[], built: string): boolean {
	const builtMs = statSync(join(built, "index.html")).mtimeMs;
	return sources.some((source) =>
		readdirSync(source, { recursive: true, withFileTypes: true }).some(
			(entry) => entry.isFile() && statSync(join(entry.parentPath, entry.name)).mtimeMs > builtMs,
		),
	);
}
