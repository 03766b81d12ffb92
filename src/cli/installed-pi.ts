import { readFileSync, realpathSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { isTestedPi, PI_PACKAGE, piFault, SUPPORTED_PI, unusablePi } from "../core/pi-version.ts";
import { property } from "../core/property.ts";

const INSTALL_PI = import.meta.url.endsWith(".ts")
	? 'run "npm ci" in the folder of pi-strata'
	: `run "npm install ${PI_PACKAGE}@0.87.1"`;

/** The server imports this package directly. It comes with pi, but some package managers hide it. */
const PI_UI_PACKAGE = "@earendil-works/pi-tui";

const UNKNOWN_VERSION = "of an unknown version";

type InstalledPi = NonNullable<ReturnType<typeof installedPi>>;

/** Reads pi's package.json, since importing pi takes a second. `missing` lists absent dependencies. */
export function installedPi(from: string = import.meta.url) {
	const file = packageFile(PI_PACKAGE, from);
	if (file === undefined) return undefined;
	const manifest = manifestIn(file);
	const version = property(manifest, "version");
	const names = Object.keys(property(manifest, "dependencies") ?? {});
	const missing = missingPackages(names, pathToFileURL(file).href);
	if (!missing.includes(PI_UI_PACKAGE)) missing.push(...missingPackages([PI_UI_PACKAGE], from));
	return {
		version: typeof version === "string" ? version : UNKNOWN_VERSION,
		folder: dirname(file),
		missing,
	};
}

/** How to start the pi that is next to pi-strata. Call it only if there is one. */
export function piProgram(from: string = import.meta.url): { program: string; args: string[] } {
	const file = packageFile(PI_PACKAGE, from);
	const cli = file && property(property(manifestIn(file), "bin"), "pi");
	if (!file || typeof cli !== "string") throw new Error(`${PI_PACKAGE} has no command named pi`);
	return { program: process.execPath, args: [join(dirname(file), cli)] };
}

/** Returns why `strata serve` cannot run on this pi, in one sentence; `undefined` if it can. */
export function serveFault(pi: InstalledPi | undefined): string | undefined {
	if (!pi) return `pi was not found next to pi-strata (supported: ${SUPPORTED_PI}); ${INSTALL_PI}`;
	const fault = piFault(pi.version);
	if (fault !== undefined) return `${fault}; ${INSTALL_PI}`;
	if (pi.missing.length === 0) return undefined;
	return `pi ${pi.version} in ${pi.folder} is incomplete (missing: ${firstThree(pi.missing)}); ${INSTALL_PI}`;
}

/** Only the server needs an installed pi. The extension uses the pi that loads it. */
export function describePi(pi: InstalledPi | undefined): { ok: boolean; note: string } {
	const fault = serveFault(pi);
	if (!pi || fault !== undefined) {
		const rest =
			'only "strata serve" needs it; everything else works, including the extension in pi';
		return { ok: false, note: `${fault} (${rest})` };
	}
	const found = `${pi.version} in ${pi.folder}`;
	if (isTestedPi(pi.version)) return { ok: true, note: found };
	return { ok: false, note: `${found}, which is untested (supported: ${SUPPORTED_PI})` };
}

/** Replaces an error caused by an incompatible pi with one that names the version found. */
export function explainPi(
	error: unknown,
	findVersion: () => string | undefined = () => installedPi()?.version,
): unknown {
	// Node reports a missing export as a syntax error.
	if (!(error instanceof SyntaxError) || !error.message.includes("@earendil-works/")) return error;
	const found = unusablePi(findVersion() ?? UNKNOWN_VERSION);
	return new Error(`${found}; ${INSTALL_PI}`, { cause: error });
}

export function missingPackages(names: readonly string[], from: string): string[] {
	return names.filter((name) => packageFile(name, from) === undefined);
}

function firstThree(names: readonly string[]): string {
	const rest = names.length - 3;
	return rest > 0 ? `${names.slice(0, 3).join(", ")} and ${rest} more` : names.join(", ");
}

function manifestIn(file: string): unknown {
	try {
		return JSON.parse(readFileSync(file, "utf8"));
	} catch {
		return undefined;
	}
}

function packageFile(name: string, from: string): string | undefined {
	try {
		const file = findPackageJSON(name, from);
		// Resolves links as an import does, since dependencies are next to the real package.
		return file && realpathSync(file);
	} catch {
		return undefined;
	}
}
