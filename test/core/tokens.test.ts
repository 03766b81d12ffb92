import { expect, test } from "vitest";
import { estimateTokens } from "../../src/core/tokens.ts";
import { sdk } from "../support/pi-sdk.ts";
import { fc } from "../support/property.ts";

test("a text has as many tokens as pi says", () => {
	fc.assert(
		fc.property(fc.string({ unit: "grapheme", maxLength: 200 }), (text) => {
			const message = {
				role: "toolResult" as const,
				toolCallId: "a",
				toolName: "read",
				content: [{ type: "text" as const, text }],
				isError: false,
				timestamp: 0,
			};
			expect(estimateTokens(text.length)).toBe(sdk.estimateTokens(message));
		}),
	);
});
