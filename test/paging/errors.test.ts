import { expect, test } from "vitest";
import { tooLarge } from "../../src/paging/errors.ts";

test.each([
	[4999, "4999 bytes"],
	[10_000_000, "10 MB"],
	[10_485_760, "10.5 MB"],
])("a limit of %i bytes is named in the unit of the setting: %s", (limit, named) => {
	expect(tooLarge("a.txt", limit).message).toContain(
		`a.txt is larger than the limit of ${named}. `,
	);
});
