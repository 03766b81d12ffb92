import { readFileSync } from "node:fs";
import { Check } from "typebox/schema";
import { describe, expect, test } from "vitest";
import { commandTypes } from "../../src/protocol/command-table.ts";
import { protocolJsonSchema } from "../../src/protocol/index.ts";
import { MISS_CAUSES } from "../../src/text/miss-causes.ts";

const schema = protocolJsonSchema() as { $defs: Record<string, Record<string, unknown>> };

describe("the JSON Schema of the protocol", () => {
	test("docs/protocol.schema.json is up to date; if not: npm run schema", () => {
		const file = new URL("../../docs/protocol.schema.json", import.meta.url);
		expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(schema);
	});

	test("has the frame and the data of every command, with its row of the table", () => {
		for (const type of commandTypes) {
			expect(schema.$defs[`command.${type}`]).toMatchObject({
				properties: { type: { const: type } },
				"x-effect": expect.stringMatching(/^(read|change)$/),
			});
			expect(schema.$defs[`data.${type}`]).toBeDefined();
		}
	});

	test("names every cause of a miss", () => {
		const text = JSON.stringify(schema.$defs.CacheMiss);
		for (const cause of Object.keys(MISS_CAUSES)) {
			if (cause !== "edit") expect(text).toMatch(new RegExp(`\\b${cause}\\b`));
		}
	});

	test("every reference leads somewhere, and nothing refers to itself alone", () => {
		const text = JSON.stringify(schema);
		const references = [...text.matchAll(/"#\/\$defs\/([^"]+)"/g)].map((match) => match[1] ?? "");
		expect(references.length).toBeGreaterThan(200);
		for (const name of references) {
			expect(schema.$defs).toHaveProperty([name]);
			expect(schema.$defs[name]).not.toEqual({ $ref: `#/$defs/${name}` });
		}
	});

	test.each<[object, boolean]>([
		[{ type: "prompt", sessionId: "s", message: "m", novel: 1 }, true],
		[{ type: "prompt", sessionId: "s" }, false],
		[{ type: "prompt", sessionId: "..", message: "m" }, false],
		[{ type: "list_sessions", ifSessionVersion: 1 }, false],
		[{ type: "delete_session", sessionId: "s", ifSessionVersion: 1 }, true],
		[{ type: "response", command: "abort", success: false, error: "e", code: "busy" }, true],
		[{ type: "response", command: "abort" }, false],
		[{ type: "gap", sessionId: "s", fromSeq: 1, toSeq: 2 }, true],
		[{ type: "event", sessionId: "s", seq: 1, event: { type: "agent_start" } }, true],
		[{ type: "event", sessionId: "s", seq: 0, event: { type: "agent_start" } }, false],
	])("%j: %s", (frame, isAllowed) => {
		expect(Check(schema, frame)).toBe(isAllowed);
	});
});
