import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { PagingError } from "../../src/paging/errors.ts";
import { normaliseUri } from "../../src/paging/uri.ts";
import { fc, runs } from "../support/property.ts";

const key = (input: string) => {
	const address = normaliseUri(input, "/project");
	return address.kind === "web" ? address.key : `path ${address.path}`;
};
const path = (input: string, root = "/project", platform: NodeJS.Platform = "linux") => {
	const address = normaliseUri(input, root, platform);
	return address.kind === "file" ? address.path : `web ${address.key}`;
};
const code = (input: string, root: string | undefined, platform: NodeJS.Platform) => {
	try {
		return JSON.stringify(normaliseUri(input, root, platform));
	} catch (error) {
		return error instanceof PagingError ? error.code : error;
	}
};

const thrownBy = (input: string): Error => {
	try {
		return expect.unreachable(JSON.stringify(normaliseUri(input, "/project", "linux")));
	} catch (error) {
		return error as Error;
	}
};

describe("web addresses", () => {
	test.each([
		["https://example.com", "https://example.com/"],
		["HTTPS://EXAMPLE.com:443/A?b=C", "https://example.com/A?b=C"],
		["http://example.com:80/#part", "http://example.com/"],
		["http://example.com:8080/#", "http://example.com:8080/"],
		["https://example.com/a/../b/./c", "https://example.com/b/c"],
		["  https://example.com/a\n", "https://example.com/a"],
		["https://例え.jp/日本", "https://xn--r8jz45g.jp/%E6%97%A5%E6%9C%AC"],
		["https://example.com/a%20b?mail=x@y.z", "https://example.com/a%20b?mail=x@y.z"],
		["https://example.com?q#@x", "https://example.com/?q"],
	])("%j is %s", (input, expected) => {
		expect(key(input)).toBe(expected);
	});

	test("are the same URL for those who fetch and those who keep", () => {
		const address = normaliseUri("http://example.com:80/a#b");
		expect(address.kind === "web" && address.url.href).toBe(address.kind === "web" && address.key);
	});

	// Refusing special addresses is the fetch's part; for that they must come out in their plain form.
	test.each([
		"http://0x7f.1/",
		"http://2130706433/",
		"http://0177.0.0.1/",
		"http://127.1/",
		"http://①②⑦.0.0.1/",
		"http://127。0。0。1/",
		"http://%31%32%37.0.0.1/",
		"http://127.0.0.1\\@example.com/",
		"http://127.0.0.1#@example.com/",
		"http://127.0.0.1?@example.com/",
	])("%s does not hide its host", (input) => {
		const address = normaliseUri(input);
		expect(address.kind === "web" && address.url.hostname).toBe("127.0.0.1");
	});

	test.each([
		"https://user:secret@example.com/",
		"https://user@example.com/",
		"https://@example.com/",
		"https://:@example.com/",
		"https://example.com@127.0.0.1/",
	])("%s is refused for its user, without repeating it", (input) => {
		expect(() => normaliseUri(input)).toThrow(/up to the @/);
		expect(() => normaliseUri(input)).not.toThrow(/secret/);
	});

	test.each([
		"https:/user:SECRET@example.invalid/",
		"https:user:SECRET@example.invalid/",
		"https:\\\\user:SECRET@example.invalid/",
		"https://user:SECR ET@example.invalid/",
		"https://us@er:SECRET@example.invalid/a b",
		"https:/user:SEC?RET@example.invalid/",
		"https:/user:SEC#RET@example.invalid/",
		"https://example.invalid:99999/?token=SECRET",
		"https://example.invalid:99999/?mail=a@b&token=SECRET",
		"https://example.invalid/a b#token=SECRET",
		"https://[bad]/?token=SECRET",
		" https://[bad]/?token=SECRET",
		"\x01https://user:SECRET@example.invalid/",
		"ht\ttps://user:SECRET@example.invalid/",
		"https://user:SECRET@example.invalid/\ud83d",
		"file://user:SECRET@example.invalid/a",
		"file:///a?token=SECRET",
	])("%j is refused without repeating its secret", (input) => {
		const error = thrownBy(input);
		expect(error).toMatchObject({ code: "invalid_uri" });
		expect(inspect(error)).not.toMatch(/SEC|RET|ET@/);
	});

	test("that are refused are shown without what may be a secret", () => {
		const message = (input: string) => thrownBy(input).message;
		expect(message("https:/user:x@example.com/a")).toContain('"https:…@example.com/a"');
		expect(message("http://example.com:99999/a?b=c#d")).toContain('"http://example.com:99999/a?…"');
		expect(message("http://example.com:99999/a#d")).toContain('"http://example.com:99999/a#…"');
		const long = `https://user:x@example.com/${"a".repeat(8192)}`;
		expect(message(long)).toContain('"https:…@example.com/aaa');
		expect(message("http:/a?b@c")).toContain('"http:…"');
		expect(message("notes@home?\n.md")).toContain(JSON.stringify("notes@home?\n.md"));
	});

	test.each([
		["no host", "https://"],
		["no slashes", "https:example.com"],
		["one slash", "https:/example.com"],
		["three slashes", "https:///example.com"],
		["backslashes", "https:\\\\example.com"],
		["a space", "https://example.com/a b"],
		["a space in the host", "https://exa mple.com/"],
		["a no-break space", "https://example.com/a\u00a0b"],
		["a tab in the scheme", "ht\ttps://example.com/"],
		["a newline", "https://example.com/\n@evil.com"],
		["a NUL", "https://example.com/\0"],
		["a delete", "https://example.com/\x7f"],
		["a control character before it", "\x01https://example.com/"],
		["half a character", "https://example.com/\ud83d"],
		["an open bracket", "http://[::1/"],
		["a port that cannot be", "http://example.com:99999/"],
		["a forbidden character in the host", "http://exa<mple.com/"],
		["too many characters", `https://example.com/${"a".repeat(8192)}`],
	])("with %s are invalid", (_, input) => {
		expect(code(input, "/project", "linux")).toBe("invalid_uri");
	});

	test("of the greatest length are read", () => {
		const input = `https://example.com/${"a".repeat(8192 - 20)}`;
		expect(key(input)).toBe(input);
	});
});

describe("other schemes", () => {
	test.each([
		["data:text/html,x", "data"],
		["ftp://example.com/", "ftp"],
		["javascript:alert(1)", "javascript"],
		["JavaScript:alert(1)", "javascript"],
		["view-source:https://example.com/", "view-source"],
		["blob:https://example.com/x", "blob"],
		["http+unix://socket/x", "http+unix"],
		["httpss://example.com/", "httpss"],
		["about:blank", "about"],
		["c:\\windows", "c"],
		["notes.md:12", "notes.md"],
	])("%s is refused by name", (input, scheme) => {
		expect(code(input, "/project", "linux")).toBe("unsupported_scheme");
		expect(() => normaliseUri(input, "/project", "linux")).toThrow(`"${scheme}:"`);
	});
});

describe("paths", () => {
	test.each([
		["notes.md", "/project/notes.md"],
		["./docs/../a b (1).pdf", "/project/a b (1).pdf"],
		["../outside", "/outside"],
		["/etc//passwd", "/etc/passwd"],
		["//example.com/x", "/example.com/x"],
		["./data:x", "/project/data:x"],
		["docs/a.ts:10", "/project/docs/a.ts:10"],
		["www.example.com/x", "/project/www.example.com/x"],
		["%2e%2e/a", "/project/%2e%2e/a"],
		["back\\slash", "/project/back\\slash"],
		[" leading", "/project/ leading"],
		["日本.md", "/project/日本.md"],
	])("%j is %s", (input, expected) => {
		expect(path(input)).toBe(expected);
	});

	test.each([
		"",
		" ",
		"\n",
		"a\0b",
		"a\nb",
		"a\tb",
		"\x1b[31m",
		"a\x85b",
		"\udc00",
		"a".repeat(8193),
	])("%j is invalid", (input) => {
		expect(code(input, "/project", "linux")).toBe("invalid_uri");
	});

	test("that are relative need a root", () => {
		expect(code("a", undefined, "linux")).toBe("invalid_uri");
		expect(code("file:a", undefined, "linux")).toBe("invalid_uri");
		expect(normaliseUri("/a/../b", undefined, "linux")).toEqual({ kind: "file", path: "/b" });
	});
});

describe("file: URIs", () => {
	test.each([
		["file:///etc/hosts", "/etc/hosts"],
		["FILE:///etc/hosts", "/etc/hosts"],
		["file:/etc/hosts", "/etc/hosts"],
		["file://localhost/etc/hosts", "/etc/hosts"],
		["file://LocalHost/etc/hosts", "/etc/hosts"],
		["file:///a%20b%3Fc%23d.md#part", "/a b?c#d.md"],
		["file:///project/%2e%2e/etc", "/etc"],
		["file:docs/a%20b.md", "/project/docs/a b.md"],
		["file:./a.md", "/project/a.md"],
		["file:../a.md", "/a.md"],
		["file:///a%252Fb", "/a%2Fb"],
		["file:///%E6%97%A5", "/日"],
	])("%s is %s", (input, expected) => {
		expect(path(input)).toBe(expected);
	});

	test("that are relative start from the root whatever its name", () => {
		expect(path("file:a", "/my #1 50%/x?")).toBe("/my #1 50%/x?/a");
		expect(path("file:a", "/project/")).toBe("/project/a");
	});

	test.each([
		"file://example.com/etc/hosts",
		"file://127.0.0.1/etc/hosts",
		"file://docs/a.md",
		"file://localhost:80/etc",
		"file://user@localhost/etc",
		"file:\\\\example.com\\share",
		"file:////etc/hosts",
		"file://///etc/hosts",
		"file:///..//etc/hosts",
		"file:/.//etc/hosts",
		"file://localhost//etc/hosts",
		"file:///a%2Fb",
		"file:///a%2fb",
		"file:///..%2f..%2fetc",
		"file:///a%5Cb",
		"file:///a%00.md",
		"file:a%00",
		"file:///a%0Ab",
		"file:///a%1Bb",
		"file:///a%FFb",
		"file:///a%",
		"file:///a?b",
		"file:///a b",
		"file:///a\tb",
	])("%j is invalid", (input) => {
		expect(code(input, "/project", "linux")).toBe("invalid_uri");
	});
});

describe("on Windows", () => {
	test.each([
		["C:\\a\\..\\b.txt", "C:\\b.txt"],
		["c:/a/b.txt", "c:\\a\\b.txt"],
		["docs\\a.md", "D:\\work\\docs\\a.md"],
		["docs/a.md", "D:\\work\\docs\\a.md"],
		["\\a.md", "D:\\a.md"],
		["file:///C:/a%20b.md", "C:\\a b.md"],
		["file:///C|/a.md", "C:\\a.md"],
		["file:a/b.md", "D:\\work\\a\\b.md"],
	])("%s is %s", (input, expected) => {
		expect(path(input, "D:\\work", "win32")).toBe(expected);
	});

	test.each([
		"\\\\host\\share\\a",
		"//host/share/a",
		"\\\\.\\COM1",
		"\\\\?\\C:\\a",
		"C:a.md",
		"file://host/share/a",
		"file:////host/share/a",
		"file:///C:/a%5Cb",
	])("%s is invalid", (input) => {
		expect(code(input, "D:\\work", "win32")).toBe("invalid_uri");
	});
});

describe("anything at all", () => {
	const piece = fc.oneof(
		fc.constantFrom(
			"http://",
			"https:",
			"file:",
			"//",
			"/",
			"\\",
			"..",
			"%2e",
			"%2F",
			"%00",
			"@",
			":",
		),
		fc.constantFrom(
			"C:",
			"localhost",
			"[::1]",
			"#",
			"?",
			"\t",
			"\n",
			"\0",
			" ",
			"\u202e",
			"\ud800",
		),
		fc.string({ unit: "binary", maxLength: 5 }),
		fc.webUrl(),
	);
	const inputs = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""));

	test("is understood or refused, and what is understood is in its final form", () => {
		fc.assert(
			fc.property(
				inputs,
				fc.constantFrom("linux" as const, "win32" as const),
				(input, platform) => {
					const root = platform === "win32" ? "D:\\work" : "/project";
					try {
						const address = normaliseUri(input, root, platform);
						if (address.kind === "web") {
							const { protocol, username, password, hash, hostname } = address.url;
							expect(["http:", "https:"]).toContain(protocol);
							expect([username, password, hash]).toEqual(["", "", ""]);
							expect(hostname).not.toBe("");
							expect(normaliseUri(address.key, root, platform)).toEqual(address);
						} else {
							expect(address.path).toMatch(platform === "win32" ? /^[a-z]:\\/i : /^\//);
							expect(address.path).not.toMatch(/\p{Cc}/u);
							const names = address.path.split(platform === "win32" ? "\\" : "/");
							expect(names.filter((name) => name === "." || name === "..")).toEqual([]);
							expect(normaliseUri(address.path, root, platform)).toEqual(address);
						}
					} catch (error) {
						if (!(error instanceof PagingError)) throw error;
						expect(["invalid_uri", "unsupported_scheme"]).toContain(error.code);
						expect(error.message.length).toBeLessThan(1500);
					}
				},
			),
			{ numRuns: runs(1000) },
		);
	});
});
