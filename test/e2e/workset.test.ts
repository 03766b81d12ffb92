import type { Message } from "@earendil-works/pi-ai";
import { expect, test } from "vitest";
import strata from "../../src/extension/index.ts";
import { startPi } from "../support/pi-session.ts";

const extensions = [{ name: "strata", factory: strata }];

/** Every text block of a request that says it is a working file: its path, and its text. */
function copiesIn(context: readonly Message[]): { path: string; text: string }[] {
	return context.flatMap(({ content }) =>
		(Array.isArray(content) ? content : []).flatMap((block) => {
			const found =
				block.type === "text" &&
				/^<working-file path="([^"]+)"[^\n]*>\n([\s\S]*)\n<\/working-file>$/.exec(block.text);
			return found ? [{ path: found[1] ?? "", text: found[2] ?? "" }] : [];
		}),
	);
}

/** The last copy of each file: what the model takes for its text. */
function liveIn(context: readonly Message[]): Record<string, string> {
	return Object.fromEntries(copiesIn(context).map(({ path, text }) => [path, text]));
}

test("a working file is in the next request, and in every one after it", async () => {
	const pi = await startPi({ extensions, tools: ["read"] });
	pi.write("a.ts", "export const a = 1;\n");
	await pi.command("/workset add a.ts");
	await pi.run("first", ["one"]);
	expect(copiesIn(pi.lastContext())).toEqual([{ path: "a.ts", text: "export const a = 1;\n" }]);
	await pi.run("second", ["two"]);
	expect(copiesIn(pi.lastContext())).toEqual([{ path: "a.ts", text: "export const a = 1;\n" }]);
	expect(pi.contexts[1]?.slice(0, pi.contexts[0]?.length)).toEqual(pi.contexts[0]);
});

test("a file changed by anybody is shown as it is before the next request", async () => {
	const pi = await startPi({ extensions, tools: ["read", "edit"] });
	pi.write("a.ts", "one\n");
	pi.write("b.ts", "b\n");
	await pi.command("/workset add a.ts b.ts");
	await pi.run("first", ["ok"]);
	pi.write("a.ts", "two\n");
	await pi.run("second", ["ok"]);
	expect(liveIn(pi.lastContext())).toEqual({ "a.ts": "two\n", "b.ts": "b\n" });
	await pi.run("edit it", [
		{ tool: "edit", args: { path: "a.ts", edits: [{ oldText: "two", newText: "three" }] } },
		(context) => {
			expect(liveIn(context)).toEqual({ "a.ts": "three\n", "b.ts": "b\n" });
			return "done";
		},
	]);
});
