import { expect, test } from "vitest";
import { pageTitle } from "../../src/dashboard/route.ts";

test("the title begins with the session, and with a sign while it runs", () => {
	expect(pageTitle()).toBe("strata");
	expect(pageTitle("shop")).toBe("shop · strata");
	expect(pageTitle("shop", true)).toBe("● shop · strata");
	expect(pageTitle("x".repeat(200)).length).toBeLessThan(80);
});
