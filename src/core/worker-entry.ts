/**
 * The URL of a worker's entry file beside the module that starts it: TypeScript in a clone, compiled
 * JavaScript in the published package, where Node refuses to strip types.
 *
 * @param name the file's name without its ending, e.g. `"./probe-worker"`
 * @param moduleUrl the caller's `import.meta.url`
 */
export function workerEntry(name: string, moduleUrl: string): URL {
	return new URL(`${name}${moduleUrl.endsWith(".ts") ? ".ts" : ".js"}`, moduleUrl);
}
