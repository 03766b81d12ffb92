import { describe, expect, test } from "vitest";
import type { SearchQuery } from "../../../src/codeindex/answers.ts";
import { search } from "../../../src/codeindex/queries/index.ts";
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
	test("the definition comes first, then files that declare something alike, tests last", () => {
		expect(paths({ query: "AgentSession" })).toEqual([
			"src/agent-session.ts",
			"src/plain.js",
			"src/factory.ts",
			"src/user.ts",
			"test/agent-session.test.ts",
		]);
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

	test("a question without words finds nothing", () => {
		expect(find({ query: " .*( " })).toEqual({ hits: [], total: 0 });
	});
});
