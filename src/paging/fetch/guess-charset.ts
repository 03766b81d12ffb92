/** Bytes that are examined; enough text for a guess, and cheap. */
const SAMPLE = 65_536;
/** Fewer characters outside ASCII prove nothing. */
const MIN_CHARS = 5;
const MIN_LETTERS = 20;

/**
 * Guesses the charset of undeclared text that is not UTF-8, as browsers do: by the byte sequences that a charset allows, and
 * by the characters that are frequent in its language. `undefined` if no charset is likely; a Western one is then the best.
 */
export function guessCharset(bytes: Buffer): string | undefined {
	const sample = bytes.subarray(0, SAMPLE);
	return east(sample) ?? cyrillic(sample);
}

/** ISO-2022-JP is ASCII with escape sequences, so it is valid UTF-8 too. */
export function isIso2022Jp(bytes: Buffer): boolean {
	const start = bytes.subarray(0, SAMPLE);
	const at = start.indexOf("\x1b$");
	if (at === -1 || !/[B@]/.test(String.fromCharCode(start[at + 2] ?? 0))) return false;
	const text = decoded(start, "iso-2022-jp");
	return (
		text !== undefined &&
		share(text, /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/gu) > 0.5
	);
}

function east(sample: Buffer): string | undefined {
	const japanese = /[\p{Script=Hiragana}\p{Script=Katakana}]/gu;
	// Halfwidth forms are single bytes of Shift_JIS, as accented letters are of Western charsets.
	for (const charset of ["euc-jp", "shift_jis"]) {
		const text = decoded(sample, charset);
		if (text && share(text, japanese) >= 0.2 && share(text, /[\uff61-\uff9f]/g) < 0.1)
			return charset;
	}
	const korean = decoded(sample, "euc-kr");
	if (korean && share(korean, /\p{Script=Hangul}/gu) >= 0.9) return "euc-kr";
	const { count, isFrequentGb, isFrequentBig5, hasLowTrail } = pairs(sample);
	if (count < MIN_CHARS) return undefined;
	if (isFrequentGb / count >= 0.9 && decoded(sample, "gbk") !== undefined) return "gbk";
	if (
		isFrequentBig5 / count >= 0.75 &&
		hasLowTrail / count >= 0.1 &&
		decoded(sample, "big5") !== undefined
	)
		return "big5";
	return undefined;
}

/** Counts pairs of bytes by where the frequent characters of GB 2312 and of Big5 are. */
function pairs(sample: Buffer) {
	const found = { count: 0, isFrequentGb: 0, isFrequentBig5: 0, hasLowTrail: 0 };
	for (let at = 0; at + 1 < sample.length; at++) {
		const lead = sample[at] as number;
		if (lead < 0x80) continue;
		const trail = sample[++at] as number;
		found.count++;
		const isHighTrail = trail >= 0xa1;
		if (isHighTrail && ((lead >= 0xb0 && lead <= 0xd7) || (lead >= 0xa1 && lead <= 0xa3)))
			found.isFrequentGb++;
		const isTrail = isHighTrail || (trail >= 0x40 && trail <= 0x7e);
		if (isTrail && ((lead >= 0xa4 && lead <= 0xc6) || lead === 0xa1)) found.isFrequentBig5++;
		if (!isHighTrail) found.hasLowTrail++;
	}
	return found;
}

/** Words of Cyrillic are rows of bytes above 127; in Western text such bytes are alone. */
function cyrillic(sample: Buffer): string | undefined {
	const text = sample.toString("latin1");
	const high = text.match(/[\x80-\xff]/g)?.length ?? 0;
	const inRows = (text.match(/[\xc0-\xff]{2,}/g) ?? []).reduce((sum, row) => sum + row.length, 0);
	if (high < MIN_LETTERS || inRows < high * 0.8) return undefined;
	// The six most frequent letters of Russian are almost half of a text, in other scripts about a quarter.
	return ["windows-1251", "koi8-r"].find((charset) => {
		const letters = new TextDecoder(charset).decode(sample).toLowerCase();
		const all = letters.match(/\p{Script=Cyrillic}/gu)?.length ?? 0;
		const lower = new TextDecoder(charset).decode(sample).match(/[а-яё]/g)?.length ?? 0;
		const frequent = letters.match(/[оеаинт]/g)?.length ?? 0;
		return all >= MIN_LETTERS && lower >= all / 2 && frequent >= all * 0.38;
	});
}

/** `undefined` if the bytes are not valid. */
function decoded(bytes: Buffer, charset: string): string | undefined {
	try {
		return new TextDecoder(charset, { fatal: true }).decode(bytes, { stream: true });
	} catch {
		return undefined; // invalid bytes are the answer
	}
}

/** The share of such characters among those outside ASCII, 0 if these are too few. */
function share(text: string, wanted: RegExp): number {
	const all = text.match(/[^\0-\x7f]/gu)?.length ?? 0;
	return all < MIN_CHARS ? 0 : (text.match(wanted)?.length ?? 0) / all;
}
