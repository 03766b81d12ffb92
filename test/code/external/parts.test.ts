import { delimiter, join, sep } from "node:path";
import { describe, expect, test } from "vitest";
import { projectFiles, toolAnswer } from "../../../src/code/external/answer-part.ts";
import { splitLines } from "../../../src/code/external/engine-process.ts";
import { childEnvironment, databaseOf } from "../../../src/code/external/external-index.ts";
import { createLogTail, LOG_LIMITS } from "../../../src/code/external/log-tail.ts";
import { fc } from "../../support/property.ts";

describe("the log", () => {
	test("keeps the last lines, at most so many, and so many bytes", () => {
		const log = createLogTail();
		for (let index = 0; index < 1000; index++) log.note(`line ${index}`);
		expect(log.lines()).toHaveLength(LOG_LIMITS.lines);
		expect(log.lines().at(-1)).toBe("line 999");
		for (let index = 0; index < 300; index++) log.note("ü".repeat(5000));
		const bytes = Buffer.byteLength(log.lines().join(""));
		expect(bytes).toBeLessThanOrEqual(LOG_LIMITS.bytes);
		expect(bytes).toBeGreaterThan(LOG_LIMITS.bytes / 2);
	});

	test("keeps no control characters, escape sequences or half characters, however the bytes are cut", () => {
		fc.assert(
			fc.property(fc.array(fc.uint8Array({ maxLength: 50 })), (chunks) => {
				const log = createLogTail();
				for (const chunk of chunks) log.write(chunk);
				for (const line of log.lines()) {
					expect(line).not.toMatch(/\p{Cc}/u);
					expect(line.isWellFormed()).toBe(true);
				}
			}),
		);
		const log = createLogTail();
		log.write(Buffer.from("\u001b[31mred\u001b[0m \u202etxt\u0007\r\nnext\tone"));
		expect(log.lines()).toEqual(["red txt", "next one"]);
	});

	test("puts characters together that were cut in two", () => {
		const log = createLogTail();
		for (const byte of Buffer.from("größer\nnoch")) log.write(Buffer.of(byte));
		expect(log.lines()).toEqual(["größer", "noch"]);
	});

	test("does not collect a line without an end", () => {
		const log = createLogTail();
		for (let index = 0; index < 100; index++) log.write(Buffer.alloc(10_000, "x"));
		log.write(Buffer.from("\nafter\n"));
		expect(log.lines()).toEqual([expect.stringMatching(/^x{999}…$/), "after"]);
	});
});

describe("lines of a stream", () => {
	test("are the same however it is cut", () => {
		fc.assert(
			fc.property(fc.array(fc.string()), fc.array(fc.nat(20)), (texts, cuts) => {
				const lines = texts.map((text) => text.replaceAll("\n", "⏎").toWellFormed());
				const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
				const got: string[] = [];
				const tooLong = () => expect.unreachable();
				const write = splitLines(10_000, (line) => got.push(line), tooLong);
				let from = 0;
				for (const cut of cuts) {
					write(bytes.subarray(from, from + cut));
					from = Math.min(bytes.length, from + cut);
				}
				write(bytes.subarray(from));
				expect(got).toEqual(lines);
			}),
		);
	});

	test("longer than allowed are reported once, and nothing comes after", () => {
		const got: string[] = [];
		let reports = 0;
		const onTooLong = () => reports++;
		const write = splitLines(5, (line) => got.push(line), onTooLong);
		for (const text of ["12345\n", "123", "456", "\nmore\n", "x".repeat(100)]) {
			write(Buffer.from(text));
		}
		expect(got).toEqual(["12345"]);
		expect(reports).toBe(1);
	});
});

describe("what a child is given", () => {
	test("is little more than the way to programs, without entries a repository could fill", () => {
		const here = join(sep, "bin");
		const env = childEnvironment(
			{ KOTADB_PATH: "x" },
			{
				PATH: ["", ".", here, "node_modules/.bin"].join(delimiter),
				HOME: "/home/me",
				OPENAI_API_KEY: "sk-1",
				NODE_OPTIONS: "--require ./x.js",
				GITHUB_TOKEN: "t",
			},
		);
		expect(env).toMatchObject({ PATH: here, KOTADB_PATH: "x" });
		expect(Object.keys(env)).not.toEqual(
			expect.arrayContaining([expect.stringMatching(/KEY|TOKEN|OPTIONS/)]),
		);
	});

	test("the database lies outside the project, another one for each, unless one is named", () => {
		const first = databaseOf("/a/shop", {});
		expect(first).not.toBe(databaseOf("/b/shop", {}));
		expect(first.startsWith("/a/shop")).toBe(false);
		expect(databaseOf("/a/shop", { KOTADB_PATH: "/db" })).toBe("/db");
	});
});

describe("an MCP result", () => {
	const text = (words: string) => ({ content: [{ type: "text", text: words }] });

	test.each([
		[{}, /holds no text/],
		[{ content: [] }, /holds no text/],
		[{ content: [{ type: "image", data: "" }] }, /holds no text/],
		[undefined, /holds no text/],
		[{ isError: true }, /it gave no reason/],
		[{ ...text('{"ok": true}'), isError: true }, /failed on search: \{"ok": true\}/],
		[text('{"results": {"code": ['), /is not JSON/],
		[text(""), /is not JSON/],
	])("%j is no answer", (result, message) => {
		expect(() => toolAnswer("search", result)).toThrow(message);
	});

	test("is the JSON in its text", () => {
		expect(toolAnswer("search", text('{"a": [1]}'))).toEqual({ a: [1] });
	});
});

describe("files of the project", () => {
	test("no path that KotaDB gives leads out of the project", () => {
		const root = join(sep, "projects", "shop");
		const files = projectFiles(root, () => true);
		fc.assert(
			fc.property(
				fc.array(fc.constantFrom("..", ".", "", "a", "b.ts", root, "/", "..a"), { maxLength: 6 }),
				(names) => {
					const found = files.find(names.join("/"));
					if (found === undefined) return;
					expect(join(root, found).startsWith(root + sep)).toBe(true);
					expect(found.split("/")).not.toContain("..");
				},
			),
		);
		expect(files.find(join(root, "src", "a.ts"))).toBe("src/a.ts");
		expect(files.find("./src/../src/a.ts")).toBe("src/a.ts");
		expect(files.find("..a/x.ts")).toBe("..a/x.ts");
		expect(files.find("../shop2/a.ts")).toBeUndefined();
	});
});
