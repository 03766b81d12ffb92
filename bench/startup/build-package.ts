import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const project = fileURLToPath(new URL("../..", import.meta.url));

/** The package as pi installs it: compiled, under node_modules, with its dependencies but not its peers. Returns its folder. */
export function buildPackage(folder: string): string {
	const modules = join(folder, "node_modules");
	const target = join(modules, "pi-strata");
	mkdirSync(target, { recursive: true });
	const manifest = JSON.parse(readFileSync(join(project, "package.json"), "utf8"));
	for (const name of Object.keys(manifest.dependencies ?? {})) {
		mkdirSync(dirname(join(modules, name)), { recursive: true });
		symlinkSync(join(project, "node_modules", name), join(modules, name), "junction");
	}
	const tsc = join(project, "node_modules", "typescript", "bin", "tsc");
	const options = ["-p", "tsconfig.build.json", "--outDir", join(target, "dist")];
	execFileSync(process.execPath, [tsc, ...options], { cwd: project, stdio: "inherit" });
	for (const file of ["package.json", "pi-extension.ts"]) {
		copyFileSync(join(project, file), join(target, file));
	}
	cpSync(join(project, "bin"), join(target, "bin"), { recursive: true });
	return target;
}
