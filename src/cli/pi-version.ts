import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";

const PI = "@earendil-works/pi-coding-agent";

/** The versions of pi that everything here is tested with. */
export const SUPPORTED_PI = "0.87.1 and 1.5.0";

/** In place of an error that comes of another pi than ours: one that says which was found. Others stay as they are. */
export function explainPi(
	error: unknown,
	findVersion: () => string | undefined = piVersion,
): unknown {
	// What a module lacks, Node calls an error of syntax.
	if (!(error instanceof SyntaxError) || !error.message.includes("@earendil-works/")) return error;
	const found = findVersion() ?? "of an unknown version";
	return new Error(
		`pi ${found} was found, which cannot be used; supported are ${SUPPORTED_PI}: npm install ${PI}@1.5.0`,
		{ cause: error },
	);
}

function piVersion(): string | undefined {
	try {
		const manifest = findPackageJSON(PI, import.meta.url);
		if (manifest === undefined) return undefined;
		return (JSON.parse(readFileSync(manifest, "utf8")) as { version?: string }).version;
	} catch {
		return undefined; // the error is told without it
	}
}
