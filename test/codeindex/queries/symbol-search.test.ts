import { describe, expect, test } from "vitest";
import { search } from "../../../src/codeindex/queries/search.ts";
import { indexProject, type ProjectFiles } from "../memory-project.ts";

const files: ProjectFiles = {
	"src/session.ts": [
		"/** One conversation. */",
		"export class Session {",
		"	isIdle = true;",
		"	/** Whether a failed request is sent again. */",
		"	isRetryableError(message: string) { return message === 'overloaded'; }",
		"}",
	].join("\n"),
	"src/errors.ts": "export class SessionError extends Error {}\nexport const isError = 1;\n",
	"src/notes.ts":
		"// errors retried retried retried: which errors are retried\nexport const x = 1;\n",
	"dist/bundle.min.js": "export function retriedErrors() {}\n",
	"dist/chunk.js": `export function retriedErrors() {} ${"var a=1;".repeat(500)}\n`,
	"lib/index.js": "export function decodeFrames(frames) { return frames; }\n",
	"lib/index.d.ts":
		"/** Decodes the frames of a stream. */\nexport declare function decodeFrames(frames: string): string;\n",
	"test/session.test.ts": "export function retriedErrors() {}\n",
};
const reader = indexProject(files);
const find = (query: string, more = {}) =>
	search(reader, { query, ...more }, (path) => files[path]).hits;
const symbolsOf = (query: string) =>
	find(query).flatMap(({ path, symbols }) =>
		symbols.map(({ name, owner }) => `${path}#${owner ? `${owner}.` : ""}${name}`),
	);

describe("a question in words", () => {
	test("names the symbol first, by stems, and leaves out words that say nothing", () => {
		expect(symbolsOf("which errors are retried")[0]).toBe(
			"src/session.ts#Session.isRetryableError",
		);
		expect(symbolsOf("which errors are retried")).not.toContain("src/session.ts#Session.isIdle");
	});

	test("finds a symbol by its comment", () => {
		expect(symbolsOf("send a failed request again")[0]).toBe(
			"src/session.ts#Session.isRetryableError",
		);
	});

	test("lists files that have the words in their text after symbols", () => {
		const paths = find("which errors are retried").map(({ path }) => path);
		expect(paths.indexOf("src/notes.ts")).toBeGreaterThan(paths.indexOf("src/session.ts"));
	});

	test("leaves out minified files, and lists tests last", () => {
		const paths = find("which errors are retried").map(({ path }) => path);
		expect(paths).not.toContain("dist/bundle.min.js");
		expect(paths).not.toContain("dist/chunk.js");
		expect(paths.at(-1)).toBe("test/session.test.ts");
		const minified = find("errors retried", { glob: "dist/*" });
		expect(minified.map(({ path }) => path).sort()).toEqual([
			"dist/bundle.min.js",
			"dist/chunk.js",
		]);
	});

	test("names the JavaScript that a declaration file describes, once", () => {
		expect(symbolsOf("decoding frames of streams")).toEqual(["lib/index.js#decodeFrames"]);
	});

	test("shows symbols in the order of their rank: further ones of a file only before the next file", () => {
		const ranked = indexProject({
			"a.ts": "export function openFile() {}\nexport function fileMode() {}\n",
			"b.ts": "export function openFileAgain() {}\n",
		});
		const { hits } = search(ranked, { query: "open file" }, () => undefined);
		expect(hits.map(({ symbols }) => symbols.map(({ name }) => name))).toEqual([
			["openFile"],
			["openFileAgain"],
		]);
	});

	test("finds documents and configuration files as text, apart from the code", () => {
		const texts: Record<string, string> = {
			"README.md":
				"# Tool\n\nSome text.\n\n## Retries\n\nWhich errors are retried is in the settings.\n",
			"docs/other.md": "Nothing of it, but errors.\n",
			"config/app.yaml": "retry:\n  errors: 3\n",
			"data.json": `"retried errors" ${"x".repeat(300_000)}`,
		};
		const ask = (query: string, more = {}) =>
			search(reader, { query, ...more }, (path) => texts[path] ?? files[path], Object.keys(texts));
		const { documents = [], hits } = ask("which errors are retried");
		expect(hits.map(({ path }) => path)).not.toContain("README.md");
		expect(documents.map(({ path }) => path)).toEqual(["README.md", "config/app.yaml"]);
		expect(documents[0]?.lines.map(({ first }) => first)).toEqual([5, 7]);
		expect(ask("which errors are retried", { language: "typescript" })).not.toHaveProperty(
			"documents",
		);
		expect(ask("errors retried", { glob: "src/**" })).not.toHaveProperty("documents");
	});

	test("of one inflected word finds names with its stem", () => {
		expect(symbolsOf("retrying")[0]).toBe("src/session.ts#Session.isRetryableError");
	});
});
