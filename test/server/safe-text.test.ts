import { describe, expect, test } from "vitest";
import { CommandError } from "../../src/server/engine/call.ts";
import { asCommandError, safeText } from "../../src/server/safe-text.ts";

describe("the text of an error", () => {
	test.each([
		[
			"ENOENT: no such file, open '/home/ann/.pi/agent/auth.json'",
			"ENOENT: no such file, open 'auth.json'",
		],
		["see C:\\Users\\ann\\notes.txt for more", "see notes.txt for more"],
		["first line\n    at secret (/srv/app/x.ts:1:2)", "first line"],
		["see https://example.com/a/b for help", "see https://example.com/a/b for help"],
		["use /login or read/write", "use /login or read/write"],
		["failed:/srv/secret/x.json", "failed:x.json"],
		["cannot load file:///srv/secret/x.json now", "cannot load x.json now"],
		["no '/home/my user/secret dir/x.json' here", "no 'x.json' here"],
		["see http://127.0.0.1:80/a/b, wss://x/y/z", "see http://127.0.0.1:80/a/b, wss://x/y/z"],
	])("%j travels as %j", (text, safe) => {
		expect(safeText(new Error(text))).toBe(safe);
	});

	test("keeps a path that the client gave", () => {
		expect(safeText(new Error("no /a/b/c.txt in /x/y/z"), ["/a/b/c.txt"])).toBe(
			"no /a/b/c.txt in z",
		);
	});

	test("is no longer than people read", () => {
		expect(safeText("x".repeat(10_000)).length).toBeLessThan(600);
	});

	test("that may travel already stays as it is", () => {
		const error = new CommandError("not_found", "there is no /a/b");
		expect(asCommandError(error)).toBe(error);
		expect(asCommandError(new Error("oh"), "wrong_state")).toMatchObject({
			code: "wrong_state",
			message: "oh",
		});
		expect(asCommandError(new Error(""))).toMatchObject({
			code: "failed",
			message: "The command failed",
		});
	});
});
