/** A sign of a font of signs as a character; `[symbol]` for one that is not known. */
export function symbolOf(font: string, code: string): string {
	const number = Number.parseInt(code, 16);
	if (!(number > 31 && number <= 0xffff)) return "[symbol]";
	// Such fonts have their signs in a private area, by the codes of an old character set.
	const isPrivate = number >= 0xe000 && number < 0xf900;
	const sign = isPrivate ? number & 0xff : number;
	if (/^symbol$/i.test(font))
		return SYMBOL.get(sign) ?? (sign < 64 ? String.fromCharCode(sign) : "[symbol]");
	if (/^wingdings$/i.test(font)) return WINGDINGS.get(sign) ?? "[symbol]";
	return isPrivate || (number >= 0xd800 && number < 0xe000)
		? "[symbol]"
		: String.fromCharCode(number);
}

const from = (start: number, signs: string) =>
	[...signs].map((sign, i) => [start + i, sign] as const);

const SYMBOL: ReadonlyMap<number, string> = new Map([
	...from(0x41, "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ"),
	...from(0x61, "αβχδεφγηιϕκλμνοπθρστυϖωξψζ"),
	...from(0xa3, "≤⁄∞"),
	...from(0xab, "↔←↑→↓°±″≥×∝∂•÷≠≡≈…"),
	...from(0xc4, "⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉"),
	...from(0xd0, "∠∇"),
	...from(0xd5, "∏√⋅¬∧∨⇔⇐⇑⇒⇓"),
	[0xe5, "∑"],
	[0xf2, "∫"],
]);

const WINGDINGS: ReadonlyMap<number, string> = new Map([
	...([
		[0x6c, "●"],
		[0x6e, "■"],
		[0x6f, "□"],
		[0x71, "❑"],
		[0x76, "❖"],
	] as const),
	...([
		[0xa7, "▪"],
		[0xa8, "☐"],
		[0xd8, "➢"],
		[0xdf, "←"],
		[0xe0, "→"],
	] as const),
	...([
		[0xe1, "↑"],
		[0xe2, "↓"],
		[0xfb, "✗"],
		[0xfc, "✓"],
		[0xfd, "☒"],
		[0xfe, "☑"],
	] as const),
]);
