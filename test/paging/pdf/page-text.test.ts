import { describe, expect, test } from "vitest";
import { pageText, titleText } from "../../../src/paging/pdf/page-text.ts";
import { fc } from "../../support/property.ts";

/** A page whose U+FFFE are all hyphens. */
function page(text: string) {
	const hyphens = [...text.matchAll(/\ufffe/g)].map(({ index }) => index);
	return pageText({ text, hyphens, painted: true });
}

function textOf(text: string): string {
	return pageText({ text, hyphens: [], painted: true }).text;
}

describe("the text of a page", () => {
	test("lines end in a newline without spaces before it, and none is left at the end", () => {
		expect(textOf("one \r\ntwo\t \r\n\r\nthree\rfour\r\n\r\n")).toBe("one\ntwo\n\nthree\nfour");
	});

	test("words hyphenated at the end of a line are joined", () => {
		expect(page("an exam\ufffeple of a hyphen\ufffeated line").text).toBe(
			"an example of a hyphenated line",
		);
		expect(page("INTRO\ufffeDUCTION").text).toBe("INTRODUCTION");
		expect(page("Stra\ufffeße, Gebüh\ufffere").text).toBe("Straße, Gebühre");
	});

	test("a hyphen that belongs to the word stays", () => {
		expect(page("COVID\ufffe19, Anglo\ufffeSaxon").text).toBe("COVID-19, Anglo-Saxon");
		expect(page("at the end\ufffe").text).toBe("at the end-");
	});

	test("a soft hyphen within a line is one that the page shows", () => {
		expect(textOf("well\u00adknown")).toBe("well-known");
	});

	test("control characters go, tabs stay, and characters without a meaning are marked", () => {
		expect(textOf("a\0b\u0007c\u001f\u007fd\te\fg")).toBe("abcd\teg");
		expect(textOf("of\ufffece, and enough text around it")).toBe(
			"of\ufffdce, and enough text around it",
		);
		expect(textOf(`half a pair \ud83d and a whole one 😀`)).toBe(
			"half a pair \ufffd and a whole one 😀",
		);
	});

	test("whatever comes in, what goes out is clean and shorter or as long", () => {
		const character = fc.oneof(
			fc.constantFrom("\r\n", "\r", "\n", " ", "\t", "\ufffe", "\u00ad", "\0", "\x1b", "\ud800"),
			fc.constantFrom("a", "B", "7", "-", "é", "日", "😀", "\ue001", "\ufffd"),
			fc.nat({ max: 0x10ffff }).map((code) => String.fromCodePoint(code)),
		);
		const property = fc.property(fc.array(character), fc.nat(), (parts, choice) => {
			const text = parts.join("");
			const marks = [...text.matchAll(/\ufffe/g)].map(({ index }) => index);
			const hyphens = marks.filter((_, i) => ((choice >> (i % 16)) & 1) === 1);
			const clean = pageText({ text, hyphens, painted: true });
			// biome-ignore lint/suspicious/noControlCharactersInRegex: they must not be there.
			expect(clean.text).not.toMatch(/[\0-\x08\x0b-\x1f\x7f\u00ad\ufffe]|[ \t]\n|[ \t\n]$|^\n/);
			expect(clean.text.isWellFormed()).toBe(true);
			expect(clean.text.length).toBeLessThanOrEqual(text.length);
			expect(textOf(clean.text)).toBe(clean.text);
		});
		fc.assert(property);
	});
});

test("a page of nothing but spaces, or line ends, takes linear time", () => {
	// What is quadratic would take longer than a test may.
	for (const run of [" ", "\t", "\r\n", "\ufffe", "\u00ad"]) textOf(`a${run.repeat(1_000_000)}b`);
});

describe("warnings", () => {
	test("a page of mostly control or private-use characters has a broken encoding", () => {
		expect(textOf("\u0001\u0002\u0003")).toBe("");
		for (const broken of [
			"\u0001\u0002\u0003\u0004",
			"a\u0081b\u0090c\u009d",
			"\ue001\ue002 and",
			"\ufffe\ufffe",
		])
			expect(pageText({ text: broken, hyphens: [], painted: true }).warning).toBe(
				"broken_encoding",
			);
	});

	test("some symbols from a private font are no broken encoding", () => {
		const list = "\uf0b7 first point\r\n\uf0b7 second point\r\n\uf0b7 third";
		expect(page(list)).toEqual({ text: "\uf0b7 first point\n\uf0b7 second point\n\uf0b7 third" });
	});

	test("hyphens are no broken encoding, however many", () => {
		expect(page("a\ufffeb\ufffec\ufffed").warning).toBeUndefined();
	});

	test("a page without text is a scan if something is painted on it, and else just empty", () => {
		expect(pageText({ text: " \r\n", hyphens: [], painted: true })).toEqual({
			text: "",
			warning: "no_text",
		});
		expect(pageText({ text: "", hyphens: [], painted: false })).toEqual({ text: "" });
	});
});

describe("a title", () => {
	test("is one line of at most 200 characters without control characters", () => {
		expect(titleText("  On\r\nthe\0 Subject\tof\u0007Titles ")).toBe("On the Subject of Titles");
		expect(titleText(`x${"😀".repeat(500)}`)).toHaveLength(200);
		expect(titleText(`x${"😀".repeat(500)}`).isWellFormed()).toBe(true);
		expect(titleText(" \0 ")).toBe("");
	});
});
