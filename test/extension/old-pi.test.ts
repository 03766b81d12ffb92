import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { expect, test, vi } from "vitest";
import loadStrata from "../../pi-extension.ts";
import { SUPPORTED_PI } from "../../src/core/pi-version.ts";

// All that an old pi and we know of each other: any other import from it would throw here.
vi.mock("@earendil-works/pi-coding-agent", () => ({ VERSION: "0.74.2" }));

test("a pi that is too old is refused in one sentence, before anything else is loaded", async () => {
	await expect(loadStrata({} as ExtensionAPI)).rejects.toThrow(
		`pi 0.74.2 was found, but it is not supported (supported: ${SUPPORTED_PI})`,
	);
});
