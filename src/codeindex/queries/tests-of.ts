import { getOrAdd } from "../../core/get-or-add.ts";
import { nameOf } from "../../core/project-path.ts";
import type { IndexedFile, IndexReader } from "../index-reader.ts";
import { languageOf } from "../languages.ts";
import { byPath, type Reached, reach } from "./graph.ts";
import { stemOf } from "./known-file.ts";

export interface TestOf {
	readonly file: IndexedFile;
	/** Import steps to the nearest of the files. 0 if the test matches by name only. */
	readonly depth: number;
	readonly via: "import" | "name";
}

/** Tests that import one of the files, even indirectly, or are named after one; nearest first. */
export function testsOf(
	reader: IndexReader,
	files: readonly IndexedFile[],
	dependents: readonly Reached[] = reach(reader, files, { direction: "dependents" }),
): readonly TestOf[] {
	const found = new Map<string, TestOf>();
	for (const file of files) {
		if (file.isTest) found.set(file.path, { file, depth: 0, via: "name" });
	}
	for (const { file, depth } of dependents) {
		if (file.isTest && isRun(reader, file)) found.set(file.path, { file, depth, via: "import" });
	}
	for (const file of namedAfter(reader, files)) {
		if (!found.has(file.path)) found.set(file.path, { file, depth: 0, via: "name" });
	}
	return [...found.values()].sort((a, b) => a.depth - b.depth || byPath(a.file, b.file));
}

const TEST_NAME = /[._-](test|tests|spec|specs|e2e|cy)$|^(test|tests|spec)[._-]/;

/**
 * Whether the file can be run. Helpers in test folders count as tests, but cannot. Where no file of a test folder is named
 * like a test (`test/app.js`), those that nothing imports are run.
 */
function isRun(reader: IndexReader, { id, path }: IndexedFile): boolean {
	if (isNamedAsTest(path)) return true;
	const folder = testFolderOf(path);
	if (folder === undefined || HELPER.test(path.slice(folder.length))) return false;
	return !foldersWithNames(reader).has(folder) && reader.dependents(id).length === 0;
}

const HELPER =
	/(?:^|\/)(?:_[^/]*|support|helpers?|fixtures?|utils?|mocks?|stubs?|data|setup|common|shared)\//i;

/** The outermost test folder, with a slash. */
function testFolderOf(path: string): string | undefined {
	return /^(?:.*?\/)??(?:tests?|specs?)\//.exec(path)?.[0];
}

const namedFolders = new WeakMap<object, ReadonlySet<string>>();

/** Test folders in which some file is named like a test. `test/test.js` alone may be one of many. */
function foldersWithNames(reader: IndexReader): ReadonlySet<string> {
	return getOrAdd(namedFolders, reader.shape, () => {
		const found = new Set<string>();
		for (const { path } of reader.files.values()) {
			const folder = testFolderOf(path);
			if (folder === undefined || found.has(folder)) continue;
			if (isNamedAsTest(path) && !/^tests?$/.test(stemOf(path))) found.add(folder);
		}
		return found;
	});
}

function isNamedAsTest(path: string): boolean {
	return (
		languageOf(path)?.testName?.test(nameOf(path)) === true ||
		TEST_NAME.test(stemOf(path)) ||
		/(^|\/)__tests__\//.test(path) ||
		/^tests?$/.test(stemOf(path))
	);
}

function namedAfter(reader: IndexReader, files: readonly IndexedFile[]): IndexedFile[] {
	const sources = files.filter(({ path, isTest }) => !isTest && stemOf(path) !== "index");
	if (sources.length === 0) return [];
	const wanted = Map.groupBy(sources, ({ path }) => stemOf(path));
	const tests: { test: IndexedFile; stem: string }[] = [];
	const namesakes = new Map<string, number>();
	for (const file of reader.files.values()) {
		if (!file.isTest) {
			const stem = stemOf(file.path);
			if (wanted.has(stem)) namesakes.set(stem, (namesakes.get(stem) ?? 0) + 1);
			continue;
		}
		const stem = stemOf(file.path).replace(TEST_NAME, "");
		if (wanted.has(stem) && isRun(reader, file)) tests.push({ test: file, stem });
	}
	return tests
		.filter(
			({ test, stem }) =>
				// If several source files share the name, the test's folders must match too.
				namesakes.get(stem) === 1 ||
				wanted.get(stem)?.some((file) => topicOf(file.path) === topicOf(test.path)),
		)
		.map(({ test }) => test);
}

function topicOf(path: string): string {
	const folders = path.split("/").slice(0, -1);
	return folders
		.filter((name) => !/^(src|lib|source|tests?|spec|__tests__|unit)$/.test(name))
		.join("/");
}
