/** Paths here are relative to the project root, with forward slashes; the root is "". No disk access. */

export function folderOf(path: string): string {
	const slash = path.lastIndexOf("/");
	return slash < 0 ? "" : path.slice(0, slash);
}

export function nameOf(path: string): string {
	return path.slice(path.lastIndexOf("/") + 1);
}

/** Normalizes `.` and `..`; `undefined` if the path leaves the project. */
export function joinPath(folder: string, path: string): string | undefined {
	// Fast path for `./name`: most module requests are this or `../name`.
	if (path.startsWith("./") && !path.includes("/", 2) && path !== "./." && path !== "./..") {
		const name = path.slice(2);
		return name === "" || folder === "" ? name || folder : `${folder}/${name}`;
	}
	const names = folder === "" ? [] : folder.split("/");
	for (const name of path.split("/")) {
		if (name === "" || name === ".") continue;
		if (name !== "..") names.push(name);
		else if (names.pop() === undefined) return undefined;
	}
	return names.join("/");
}

export function below(folder: string, path: string): string {
	return folder === "" ? path : path === "" ? folder : `${folder}/${path}`;
}

/** The part of `path` below `folder`; empty for the folder itself, `undefined` for a path outside of it. */
export function restBelow(folder: string, path: string): string | undefined {
	if (folder === "") return path;
	if (path === folder) return "";
	return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : undefined;
}

export function* foldersUpwards(folder: string): Generator<string> {
	for (let at = folder; at !== ""; at = folderOf(at)) yield at;
	yield "";
}

export type PathKind = "source" | "config" | "text" | "other";

/** `config` is a file that affects how imports are resolved, `text` a document or another configuration file. */
export function pathKind(path: string): PathKind {
	if (SOURCE_NAME.test(path)) return "source";
	if (CONFIG_NAME.test(path)) return "config";
	return TEXT_NAME.test(path) && !LOCK_NAME.test(path) ? "text" : "other";
}

/** Test helpers count as tests. */
export function isTestPath(path: string): boolean {
	const names = path.split("/");
	const name = names.pop() ?? "";
	if (TEST_NAME.test(name) || names.some((folder) => TEST_FOLDER.test(folder))) return true;
	return names.length === 0 && /^tests?\.\w+$/.test(name);
}

const SOURCE_NAME = /\.[cm]?[jt]s$|\.[jt]sx$/;
const CONFIG_NAME =
	/(?:^|\/)(?:[tj]sconfig(?:[.-][^/]*)?\.json|package\.json|pnpm-workspace\.yaml)$/;

const TEXT_NAME = /\.(?:mdx?|markdown|rst|adoc|txt|jsonc?|json5|ya?ml|toml|ini)$/i;
/** Written by package managers. */
const LOCK_NAME = /(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml)$/;

/** Matches `a.test.ts`, `a.e2e-spec.ts`, `a.cy.js`, `a.test-d.ts`, `a_test.ts`, but no `*.config.*` file. */
const TEST_NAME =
	/^(?!.*\.config\.\w+$).+(?:\.(?:test|tests|spec|specs|e2e|cy|e2e-spec|e2e-test|int-spec|test-d|spec-d|test-utils?)(?:\.[\w-]+)*|_test|_spec)\.[cm]?[jt]sx?$/;

const TEST_FOLDER =
	/^(?:tests?|__tests?__|__mocks__|__fixtures__|__specs?__|e2e|cypress|playwright|(?:unit|integration|functional|acceptance|smoke|e2e|browser|api|perf)[-_]?tests?|tests?[-_](?:utils?|helpers?|fixtures?|support))$/;
