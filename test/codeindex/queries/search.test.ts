import { describe, expect, test } from "vitest";
import type { SearchQuery } from "../../../src/codeindex/answers.ts";
import { search } from "../../../src/codeindex/queries/search.ts";
import { indexProject } from "../memory-project.ts";

const files = {
	"src/agent-session.ts": [
		"/** Runs an agent. */",
		"export class AgentSession {",
		"	prompt(text: string) {",
		"		return text;",
		"	}",
		"}",
	].join("\n"),
	"src/user.ts": [
		"import { AgentSession } from './agent-session';",
		"const session = new AgentSession();",
		"session.prompt('x'); // AgentSession AgentSession AgentSession",
	].join("\n"),
	"src/factory.ts":
		"import { AgentSession } from './agent-session';\nexport function createAgentSession() { return new AgentSession(); }\n",
	"src/plain.js":
		"export const agentSessionLimit = 1;\nfunction internalAgent() {}\ninternalAgent();\n",
	"test/agent-session.test.ts":
		"import { AgentSession } from '../src/agent-session';\nnew AgentSession();\nexport class AgentSessionFake {}\n",
	"src/unrelated.ts": "export const nothing = 1;\n",
};
const reader = indexProject(files);
const find = (query: SearchQuery) =>
	search(reader, query, (path) => files[path as keyof typeof files]);
const paths = (query: SearchQuery) => find(query).hits.map(({ path }) => path);

describe("search", () => {
	test("of a declared name the definition comes first, then files that have it in them, tests last", () => {
		const answer = find({ query: "AgentSession" });
		expect(answer.hits.map(({ path }) => path)).toEqual([
			"src/agent-session.ts",
			"src/user.ts",
			"src/factory.ts",
			"test/agent-session.test.ts",
		]);
		expect(answer.total).toBe(4);
		const symbols = answer.hits.flatMap((hit) => hit.symbols.map(({ name }) => name));
		expect(symbols).toEqual(["AgentSession"]);
	});

	test("the definition comes first even if it is in a test", () => {
		expect(paths({ query: "AgentSessionFake" })).toEqual(["test/agent-session.test.ts"]);
		const other = {
			"test/fake.ts": "export const fakeClock = 1;\n",
			"src/a.ts": "// uses fakeClock, fakeClock and fakeClock\n",
		};
		const answer = search(indexProject(other), { query: "fakeClock" }, (path) => {
			return other[path as keyof typeof other];
		});
		expect(answer.hits.map(({ path }) => path)).toEqual(["test/fake.ts", "src/a.ts"]);
	});

	test("lines of a declared name are those that have it whole and in its case", () => {
		const [hit] = find({ query: "AgentSession", contextLines: 0, glob: "src/factory.ts" }).hits;
		expect(hit?.matchingLines).toBe(2);
		const [test] = find({ query: "AgentSession", contextLines: 0, glob: "test/**" }).hits;
		expect(test?.lines.flatMap(({ matches }) => matches)).toEqual([1, 2]);
	});

	test("a member asked for with its owner is answered alone", () => {
		const answer = find({ query: "AgentSession.prompt" });
		expect(answer.hits).toMatchObject([
			{ path: "src/agent-session.ts", symbols: [{ name: "prompt", owner: "AgentSession" }] },
		]);
		expect(answer.total).toBe(1);
	});

	describe("a name that is not declared", () => {
		const other = {
			"a.ts": "export const run = (api: any) => api.fetchUserName();\n",
			"b.ts": "export const fetch = 1, user = 2, name = 3;\n",
			"c.ts": "export const prefetchUserNames = 1;\n",
			"d.ts": "/** See user-name.ts. */\nexport const x = 1;\n",
			"user-name.ts": "export const y = 1;\n",
		};
		const memory = indexProject(other);
		const ask = (query: string) =>
			search(memory, { query }, (path) => other[path as keyof typeof other]);
		const found = (query: string) => ask(query).hits.map(({ path }) => path);

		test("is answered with files that have it", () => {
			expect(found("fetchUserName")).toEqual(["a.ts"]);
			expect(ask("fetchUserName")).not.toHaveProperty("inexact");
		});

		test("is answered with files that have it as a part, if none has it whole", () => {
			expect(found("fetchUserNam").sort()).toEqual(["a.ts", "c.ts"]);
		});

		test("is answered with files that have parts of it, and that is said, if there is nothing else", () => {
			const answer = ask("userNameFetch");
			expect(answer.hits.map(({ path }) => path)).toContain("b.ts");
			expect(answer.inexact).toBe(true);
			expect(ask("zzzQqq")).toEqual({ hits: [], total: 0 });
		});

		test("comes before what only begins with it, if it may be a word as well", () => {
			const chalk = {
				"board.ts": "export const chalkboard = 1, chalks = 2;\n",
				"user.ts": "import chalk from 'chalk';\nexport const chalks = chalk.red;\n",
			};
			const { hits } = search(
				indexProject(chalk),
				{ query: "chalk", contextLines: 0 },
				(path) => chalk[path as keyof typeof chalk],
			);
			expect(hits.map(({ path }) => path)).toEqual(["user.ts", "board.ts"]);
			expect(hits.map(({ matchingLines }) => matchingLines)).toEqual([2, 1]);
		});

		test("may be that of a file", () => {
			expect(found("d.ts")).toEqual(["d.ts"]);
		});
	});

	test("hits carry the symbols that match, the best first", () => {
		const [first] = find({ query: "agentsession" }).hits;
		expect(first?.symbols[0]).toEqual({
			name: "AgentSession",
			kind: "class",
			line: 2,
			endLine: 6,
			exported: true,
			signature: "class AgentSession",
			doc: "Runs an agent.",
		});
	});

	test("several words find what has them together, in any case", () => {
		expect(paths({ query: "agent session" })[0]).toBe("src/agent-session.ts");
		expect(paths({ query: "create agent" })[0]).toBe("src/factory.ts");
	});

	test("members are found with their owner", () => {
		const [first] = find({ query: "prompt", scope: ["symbols"] }).hits;
		expect(first?.symbols).toMatchObject([{ name: "prompt", owner: "AgentSession" }]);
	});

	test("the scope of symbols only has files that declare something", () => {
		expect(paths({ query: "AgentSession", scope: ["symbols"] })).not.toContain("src/user.ts");
	});

	test("filters choose files and symbols", () => {
		expect(paths({ query: "agent", glob: "src/**", language: "javascript" })).toEqual([
			"src/plain.js",
		]);
		expect(paths({ query: "agent", includeTests: false })).not.toContain(
			"test/agent-session.test.ts",
		);
		expect(paths({ query: "agent", exclude: ["*.js", "factory.ts"] })).not.toContain(
			"src/factory.ts",
		);
		const kinds = find({ query: "agent", scope: ["symbols"], symbolKinds: ["function"] });
		expect(kinds.hits.flatMap(({ symbols }) => symbols.map(({ name }) => name))).toEqual([
			"createAgentSession",
			"internalAgent",
		]);
		const exported = find({ query: "internalAgent", scope: ["symbols"], exportedOnly: true });
		expect(exported.hits).toEqual([]);
	});

	test("the limit bounds the hits and not the total", () => {
		const answer = find({ query: "agent", limit: 2 });
		expect(answer.hits).toHaveLength(2);
		expect(answer.total).toBe(5);
	});

	test("lines are looked up if context is asked for: declarations first, neighbours joined", () => {
		const hit = find({ query: "AgentSession", contextLines: 1, glob: "src/user.ts" }).hits[0];
		expect(hit?.matchingLines).toBe(3);
		expect(hit?.lines).toEqual([
			{ first: 1, text: files["src/user.ts"].split("\n"), matches: [1, 2, 3] },
		]);
		expect(find({ query: "AgentSession" }).hits[0]?.lines).toEqual([]);
	});

	test("a line of a minified file is cut, and a file that is gone has no lines", () => {
		const one = indexProject({ "a.ts": "export const needle = 1;" });
		const long = `needle ${"x".repeat(5000)}`;
		const [hit] = search(one, { query: "needle", contextLines: 0 }, () => long).hits;
		expect(hit?.lines[0]?.text[0]?.length).toBeLessThan(300);
		const short = "needle\n".repeat(2);
		const [last] = search(one, { query: "needle", contextLines: 3 }, () => short).hits;
		expect(last?.lines).toEqual([{ first: 1, text: ["needle", "needle"], matches: [1, 2] }]);
		const [gone] = search(one, { query: "needle", contextLines: 0 }, () => undefined).hits;
		expect(gone).toMatchObject({ path: "a.ts", lines: [] });
	});

	test("a declared name without letters is found, though not what else has it", () => {
		const one = indexProject({
			"a.ts": "export const $ = 1, _ = 2;\n",
			"b.ts": "export class Owner { $ = 1; }\n",
		});
		const ask = (query: string) => search(one, { query }, () => undefined);
		const found = (query: string) => ask(query).hits.map(({ path }) => path);
		expect(found("$")).toEqual(["a.ts", "b.ts"]);
		expect(ask("_")).toMatchObject({ hits: [{ path: "a.ts" }], total: 1, atLeast: true });
		expect(ask("$$")).toEqual({ hits: [], total: 0 });
	});

	test("a question without words finds nothing", () => {
		expect(find({ query: " .*( " })).toEqual({ hits: [], total: 0 });
	});
});
