/** A text in a charset: its WHATWG name in lower case, the text, and its bytes (written by hand, not by a codec). */
export interface CharsetSample {
	charset: string;
	text: string;
	bytes: Buffer;
}

/** Texts in the charsets that the web still has, without byte order marks. */
export const CHARSET_SAMPLES: readonly CharsetSample[] = [
	sample("utf-8", "é山😀", "c3a9 e5b1b1 f09f9880"),
	sample("utf-16le", "é山😀", "e900 715c 3dd8 00de"),
	sample("utf-16be", "é山😀", "00e9 5c71 d83d de00"),
	sample("windows-1252", "€“Über”–naïve™", "80 93 dc 626572 94 96 6e61ef7665 99"),
	sample("iso-8859-2", "żółw", "bf f3 b3 77"),
	sample("iso-8859-15", "€uro", "a4 75726f"),
	sample("windows-1251", "Привет", "cff0e8e2e5f2"),
	sample("koi8-r", "Привет", "f0d2c9d7c5d4"),
	sample("shift_jis", "日本語", "93fa 967b 8cea"),
	sample("euc-jp", "日本語", "c6fc cbdc b8ec"),
	sample("iso-2022-jp", "日本語", "1b2442 467c 4b5c 386c 1b2842"),
	sample("gbk", "中文", "d6d0 cec4"),
	sample("gb18030", "中文", "d6d0 cec4"),
	sample("big5", "中文", "a4a4 a4e5"),
	sample("euc-kr", "한글", "c7d1 b1db"),
];

function sample(charset: string, text: string, hex: string): CharsetSample {
	return { charset, text, bytes: Buffer.from(hex.replaceAll(" ", ""), "hex") };
}
