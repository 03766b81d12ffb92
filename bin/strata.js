#!/usr/bin/env node
// Plain JavaScript that every Node can parse: Node's version is checked before anything else loads.
import { existsSync, readFileSync } from "node:fs";
import module from "node:module";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = new URL("../", import.meta.url);
const isClone = existsSync(new URL("src/cli/main.ts", root));
const ownCode = new URL(isClone ? "src/" : "dist/", root).href;
const { engines } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
const least = engines.node.replace(">=", "");

if (isAtLeast(process.versions.node, least)) {
	module.enableCompileCache?.(compileCacheFolder());
	module.registerHooks?.({ resolve: resolveOwn });
	import(isClone ? "../src/cli/main.ts" : "../dist/cli/main.js")
		.then(({ runAtTerminal }) => runAtTerminal())
		.catch(explain);
} else {
	const hint = isClone ? '; "npm ci" installs one, which "npm run strata" and "npm start" use' : "";
	fail(`Node.js ${least} or newer is needed, this is ${process.versions.node}${hint}`);
}

/**
 * Our own modules name each other by whole relative paths. Node looks for links and package scopes at each, which takes a sixth of
 * the processor time of a question to the code index.
 *
 * @type {module.ResolveHookSync}
 */
function resolveOwn(specifier, context, next) {
	const isOwn = context.parentURL?.startsWith(ownCode) && /^\.\.?\/.*\.[jt]s$/.test(specifier);
	if (!isOwn) return next(specifier, context);
	const url = new URL(specifier, context.parentURL).href;
	return { url, format: isClone ? "module-typescript" : "module", shortCircuit: true };
}

/** A folder of the user's own: write access to it means running code as this user. */
function compileCacheFolder() {
	const { XDG_CACHE_HOME: xdg, LOCALAPPDATA: local } = process.env;
	if (xdg && isAbsolute(xdg)) return join(xdg, "pi-strata", "compiled");
	if (process.platform === "win32" && local) return join(local, "pi-strata", "Cache", "compiled");
	const caches = process.platform === "darwin" ? join("Library", "Caches") : ".cache";
	return join(homedir(), caches, "pi-strata", "compiled");
}

/** @param {string} version @param {string} wanted */
function isAtLeast(version, wanted) {
	const [major = 0, minor = 0] = version.split(".").map(Number);
	const [leastMajor = 0, leastMinor = 0] = wanted.split(".").map(Number);
	return major > leastMajor || (major === leastMajor && minor >= leastMinor);
}

/** @param {Error & { code?: string, path?: string }} error */
function explain(error) {
	const isOurs = error.code === "ENOENT" && error.path?.startsWith(fileURLToPath(ownCode));
	if (error.code !== "ERR_MODULE_NOT_FOUND" && !isOurs) throw error;
	const [line] = error.message.split("\n");
	fail(
		`${line}; ${isClone ? `run "npm ci" in ${fileURLToPath(root)}` : "install pi-strata again"}`,
	);
}

/** @param {string} sentence */
function fail(sentence) {
	console.error(`strata: ${sentence}`);
	process.exitCode = 1;
}
