/** What a path is to the index, by its name alone. */
export type PathKind = "source" | "config" | "other";

/** `source`: TypeScript or JavaScript, declarations included. `config`: a file that decides where imports lead. */
export function pathKind(path: string): PathKind {
	if (sourceName.test(path)) return "source";
	return configName.test(path) ? "config" : "other";
}

/** Whether a file is written to test others, or to help such a file. Paths are relative to the project's root. */
export function isTestPath(path: string): boolean {
	const names = path.split("/");
	const name = names.pop() ?? "";
	if (testName.test(name) || names.some((folder) => testFolder.test(folder))) return true;
	return names.length === 0 && /^tests?\.\w+$/.test(name);
}

const sourceName = /\.[cm]?[jt]s$|\.[jt]sx$/;
const configName =
	/(?:^|\/)(?:[tj]sconfig(?:[.-][^/]*)?\.json|package\.json|pnpm-workspace\.yaml)$/;

/** `a.test.ts`, `a.spec.tsx`, `a.e2e-spec.ts`, `a.cy.js`, `a.test-d.ts`, `a_test.ts`; a config is none. */
const testName =
	/^(?!.*\.config\.\w+$).+(?:\.(?:test|tests|spec|specs|e2e|cy|e2e-spec|e2e-test|int-spec|test-d|spec-d|test-utils?)(?:\.[\w-]+)*|_test|_spec)\.[cm]?[jt]sx?$/;

const testFolder =
	/^(?:tests?|__tests?__|__mocks__|__fixtures__|__specs?__|e2e|cypress|playwright|(?:unit|integration|functional|acceptance|smoke|e2e|browser|api|perf)[-_]?tests?|tests?[-_](?:utils?|helpers?|fixtures?|support))$/;
