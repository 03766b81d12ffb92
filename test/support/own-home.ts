/**
 * Runs before every test file: gives it a home folder of its own, so that no test reads, fills or deletes
 * the files of the person who runs the tests (blobs, indexes, settings of git).
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";
import { endOutside, tempDir } from "./temp.ts";

afterAll(endOutside);

const home = tempDir("home");
process.env.HOME = home;
process.env.USERPROFILE = home;
process.env.XDG_CACHE_HOME = join(home, ".cache");
// Half of what a program of ours costs to start is compiling: it finds what earlier runs have compiled.
process.env.NODE_COMPILE_CACHE = fileURLToPath(
	new URL("../../node_modules/.cache/strata-tests", import.meta.url),
);
