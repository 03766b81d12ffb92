import { describe, expect, test } from "vitest";
import { bounded, clipText } from "../../../src/server/sessions/events.ts";
import { fc } from "../../support/property.ts";

describe("a bounded value", () => {
	test("that is small stays the same object", () => {
		const value = { type: "x", content: [{ text: "short" }] };
		expect(bounded(value, 1000)).toEqual({ value, cut: false });
		expect(bounded(value, 1000).value).toBe(value);
	});

	test("that is large keeps its names and the beginning of its texts", () => {
		const value = {
			type: "tool_execution_end",
			result: {
				content: [{ type: "text", text: "y".repeat(5000) }],
				details: { more: "z".repeat(5000) },
			},
			toolCallId: "c1",
		};
		const { value: small, cut } = bounded(value, 1000);
		expect(cut).toBe(true);
		expect(small).toMatchObject({
			type: "tool_execution_end",
			toolCallId: "c1",
		});
		expect(JSON.stringify(small).length).toBeLessThan(1600);
		expect(JSON.stringify(small)).toContain("more characters are not shown");
		expect(value.result.content[0]?.text).toHaveLength(5000);
	});

	test("shows a picture whole or not at all", () => {
		const data = "QUJD".repeat(5000);
		const { value } = bounded({ content: [{ type: "image", data, mimeType: "image/png" }] }, 1000);
		expect(value.content[0]).toMatchObject({ type: "image", data: "", mimeType: "image/png" });
	});

	test("is never much larger than its bound, whatever it is", () => {
		fc.assert(
			fc.property(
				fc.jsonValue({ maxDepth: 6 }),
				fc.integer({ min: 10, max: 200 }),
				(json, most) => {
					const { value, cut } = bounded(json, most);
					const size = JSON.stringify(value)?.length ?? 0;
					if (!cut) expect(value).toBe(json);
					else expect(size).toBeLessThan(JSON.stringify(json).length + 100);
				},
			),
		);
	});

	test("cuts a text between characters", () => {
		expect(clipText("ab😀cd", 3)).toBe("ab\n[4 more characters are not shown here]");
		expect(clipText("ab", 2)).toBe("ab");
	});
});
