import { describe, expect, test } from "vitest";
import {
	parseSettings,
	type StoredSettings,
} from "../../../src/server/sessions/stored-settings.ts";
import { fc } from "../../support/property.ts";

describe("stored settings", () => {
	test("come back as they were", () => {
		const settings: StoredSettings = {
			piSessionId: "01a1",
			name: "one",
			model: { provider: "faux", id: "faux-1" },
			thinkingLevel: "high",
			tools: ["read"],
			steeringMode: "all",
			followUpMode: "one-at-a-time",
			autoCompaction: false,
			autoRetry: true,
			leaf: { id: null, afterEntry: "e9" },
			trustedCwd: "/project",
			messageCount: 4,
		};
		expect(parseSettings(JSON.parse(JSON.stringify(settings)))).toEqual(settings);
	});

	test("are read from anything without a failure, and what does not fit is left out", () => {
		fc.assert(
			fc.property(
				fc.dictionary(
					fc.constantFrom("name", "model", "tools", "leaf", "autoRetry", "steeringMode"),
					fc.jsonValue(),
				),
				(stored) => {
					const { name, tools, model, leaf, autoRetry, steeringMode } = parseSettings(stored);
					expect(["string", "undefined"]).toContain(typeof name);
					expect(["boolean", "undefined"]).toContain(typeof autoRetry);
					expect([undefined, "all", "one-at-a-time"]).toContain(steeringMode);
					expect(tools?.every((tool) => typeof tool === "string") ?? true).toBe(true);
					expect(model === undefined || typeof model.id === "string").toBe(true);
					expect(leaf === undefined || typeof leaf.afterEntry === "string").toBe(true);
				},
			),
		);
	});
});
