import { readFileSync, realpathSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { isTestedPi, PI_PACKAGE, piFault, SUPPORTED_PI, unusablePi } from "../core/pi-version.ts";
import { property } from "../core/property.ts";

/** How a pi for `strata serve` is installed: a clone has its own among what it is developed with. */
const INSTALL_PI = import.meta.url.endsWith(".ts")
	? 'run "npm ci" in the folder of pi-strata'
	: `npm install ${PI_PACKAGE}@0.87.1`;

/** What the server imports itself, beside pi. It comes with pi, but some package managers keep it from others. */
const PI_UI_PACKAGE = "@earendil-works/pi-tui";

const UNKNOWN_VERSION = "of an unknown version";

/** The pi that is installed beside pi-strata, read from its package.json: importing pi itself takes a second. */
export interface InstalledPi {
	readonly version: string;
	readonly folder: string;
	/** Packages that it depends on and that are not there, such as those of a pi that was only unpacked. */
	readonly missing: readonly string[];
}

/** Finds pi as an import would; `undefined` when there is none. */
export function installedPi(from: string = import.meta.url): InstalledPi | undefined {
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

/** Why `strata serve` cannot run on this pi, and what to do, in one sentence; `undefined` when it can. */
export function serveFault(pi: InstalledPi | undefined): string | undefined {
	if (!pi) {
		return `pi was not found beside pi-strata; supported are ${SUPPORTED_PI}: ${INSTALL_PI}`;
	}
	const fault = piFault(pi.version);
	if (fault !== undefined) return `${fault}: ${INSTALL_PI}`;
	if (pi.missing.length === 0) return undefined;
	return `pi ${pi.version} in ${pi.folder} is incomplete, it lacks ${someOf(pi.missing)}: ${INSTALL_PI}`;
}

/** What `strata doctor` says of it. Only the server needs it: the extension is handed the pi that loads it. */
export function describePi(pi: InstalledPi | undefined): { ok: boolean; note: string } {
	const fault = serveFault(pi);
	if (!pi || fault !== undefined) {
		const rest = 'only "strata serve" needs it; everything else works, also the extension in pi';
		return { ok: false, note: `${fault} (${rest})` };
	}
	const found = `${pi.version} in ${pi.folder}`;
	if (isTestedPi(pi.version)) return { ok: true, note: found };
	return { ok: false, note: `${found}, which is not tested; supported are ${SUPPORTED_PI}` };
}

/** In place of an error that comes of another pi than ours: one that says which was found. Others stay as they are. */
export function explainPi(
	error: unknown,
	findVersion: () => string | undefined = () => installedPi()?.version,
): unknown {
	// What a module lacks, Node calls an error of syntax.
	if (!(error instanceof SyntaxError) || !error.message.includes("@earendil-works/")) return error;
	const found = unusablePi(findVersion() ?? UNKNOWN_VERSION);
	return new Error(`${found}: ${INSTALL_PI}`, { cause: error });
}

/** Those of the packages that an import from a module would not find. */
export function missingPackages(names: readonly string[], from: string): string[] {
	return names.filter((name) => packageFile(name, from) === undefined);
}

/** A list of names that stays short. */
function someOf(names: readonly string[]): string {
	const rest = names.length - 3;
	return rest > 0 ? `${names.slice(0, 3).join(", ")} and ${rest} more` : names.join(", ");
}

/** `undefined` for one that cannot be read, as after an installation that was interrupted. */
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
		// Behind a link, as an import would: what a package depends on lies beside the package itself.
		return file && realpathSync(file);
	} catch {
		return undefined; // Node throws for a package that is not there
	}
}
