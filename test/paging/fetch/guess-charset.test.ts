import { describe, expect, test } from "vitest";
import { decodeText, detectKind } from "../../../src/paging/fetch/content.ts";

/** Encodes by the decoder's own table of one and two bytes. */
function encode(text: string, charset: string): Buffer {
	const codes = new Map<string, number[]>();
	const decoder = new TextDecoder(charset);
	const add = (bytes: number[]) => {
		const decoded = decoder.decode(Uint8Array.from(bytes));
		if ([...decoded].length === 1 && !codes.has(decoded)) codes.set(decoded, bytes);
	};
	for (let byte = 0; byte < 256; byte++) add([byte]);
	for (let lead = 0x81; lead < 0xff; lead++)
		for (let trail = 0x40; trail < 0xff; trail++) add([lead, trail]);
	return Buffer.from([...text].flatMap((char) => codes.get(char) ?? [0x3f]));
}

const TEXTS: Record<string, string> = {
	shift_jis: "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。",
	"euc-jp": "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。",
	gbk: "人工智能是计算机科学的一个分支，它企图了解智能的实质，并生产出一种新的智能机器。",
	big5: "人工智慧是電腦科學的一個分支，它企圖了解智慧的實質，並生產出一種新的智慧機器。",
	"euc-kr":
		"모든 국민은 법 앞에 평등하다. 누구든지 성별·종교 또는 사회적 신분에 의하여 차별을 받지 아니한다.",
	"windows-1251":
		"Все счастливые семьи похожи друг на друга, каждая несчастливая семья несчастлива по-своему.",
	"koi8-r":
		"Все счастливые семьи похожи друг на друга, каждая несчастливая семья несчастлива по-своему.",
};

describe("text that declares no charset", () => {
	test.each(Object.entries(TEXTS))("is known as %s by its characters", (charset, text) => {
		const source = `Version 1.2\n${text}\n`;
		const bytes = encode(source, charset);
		expect(decodeText(bytes, { isHtml: false })).toEqual({ text: source, charset });
		expect(detectKind(bytes, undefined, "a.txt")).toBe("text");
		const page = encode(`<!doctype html><title>x</title><p>${text}`, charset);
		expect(decodeText(page, { isHtml: true }).charset).toBe(charset);
	});

	test("in ISO-2022-JP is known by its escape sequences; colours of a terminal are none", () => {
		const bytes = Buffer.from("\x1b$B$3$l$OF|K\\8l$G$9\x1b(B.\n", "latin1");
		expect(decodeText(bytes, { isHtml: false }).text).toBe("これは日本語です.\n");
		expect(decodeText(Buffer.from("\x1b[31mred\x1b[0m $Bash"), { isHtml: false }).charset).toBe(
			"utf-8",
		);
	});

	test.each([
		["French", "Le café est prêt à côté de l'hôtel; l'été déjà, où ça? Garçon, s'il vous plaît."],
		["German", "Größe, Übermut, süße Äpfel, Straße, schöne Grüße aus Köln, für Österreich."],
		["Spanish", "¿Dónde está el niño? ¡Mañana será otro día! El pingüino comió jamón."],
		["quotes", "“Some” – words — with ‘marks’ … and € signs, ™ and so on"],
		["capitals", "ÀÉÎÕÜ ÀÉÎÕÜ ÀÉÎÕÜ ÀÉÎÕÜ ÇÑ ÅÄÖ"],
		[
			"Greek, for which there is no guess",
			"\xca\xe1\xeb\xe7\xec\xdd\xf1\xe1 \xea\xfc\xf3\xec\xe5, \xf0\xfe\xf2 \xe5\xdf\xf3\xe1\xe9 \xf3\xde\xec\xe5\xf1\xe1",
		],
	])("stays windows-1252: %s", (_, text) => {
		const bytes = encode(text, "windows-1252");
		expect(decodeText(bytes, { isHtml: false }).charset).toBe("windows-1252");
	});

	test("is windows-1252 if it is too short for a guess", () => {
		for (const charset of ["shift_jis", "gbk", "big5", "euc-kr"])
			expect(decodeText(encode("a 中文", charset), { isHtml: false }).charset).toBe("windows-1252");
	});

	test("that declares one is not guessed", () => {
		const bytes = encode(TEXTS.gbk ?? "", "gbk");
		const source = { contentType: "text/plain; charset=iso-8859-1", isHtml: false };
		expect(decodeText(bytes, source).charset).toBe("windows-1252");
		const page = Buffer.concat([Buffer.from("<meta charset=big5>"), bytes]);
		expect(decodeText(page, { isHtml: true }).charset).toBe("big5");
	});
});

describe("as in the HTML standard", () => {
	const page = (head: string) =>
		decodeText(Buffer.from(`${head}\xe9`, "latin1"), { isHtml: true }).charset;

	test.each([
		["<meta charset=x-user-defined>", "windows-1252"],
		['<meta content="text/html; charset=gb2312">', "windows-1252"],
		['<meta http-equiv=content-type content="text/html; charset=gb2312">', "gbk"],
		["<meta charset=ks_c_5601-1987>", "euc-kr"],
		["<meta charset=sjis>", "shift_jis"],
		["<meta charset=big5-hkscs>", "big5"],
		["<meta charset=utf-16be>é", "utf-8"],
		["<title><meta charset=koi8-r></title>", "koi8-r"],
		["<!-- x --><p foo='<meta charset=koi8-r>'><meta charset=cp1251>", "windows-1251"],
		["<script>'<meta charset=koi8-r>'</script>", "koi8-r"],
		["<!--><meta charset=koi8-r>", "koi8-r"],
	])("%s means %s", (head, charset) => {
		expect(page(head)).toBe(charset);
	});
});
