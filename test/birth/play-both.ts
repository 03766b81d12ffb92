import { Birth, defaultBirth } from "../../src/birth/index.ts";
import { PlainEngine } from "./plain-engine.ts";
import { pick, randomFrom, randomResult } from "./random-results.ts";

const DEDUPE = [
	{},
	{ maxIndexedLines: 120, maxIndexedChars: 6000, maxIndexedResults: 9, maxPlaces: 3 },
	{ minLines: 2, minChars: 60, minSavedTokens: 1 },
];
const QUIET = [{}, { minSavedTokens: 1 }, { tail: 1, near: 3, minSimilar: 4, minSavedTokens: 1 }];

/** Gives the same results to the engine and to the plain one, and throws where they decide differently. */
export function playBoth(results: number, firstSeed: number) {
	const played = { results: 0, shortened: 0 };
	for (let seed = firstSeed; played.results < results; seed++) {
		const random = randomFrom(seed * 104_729);
		const settings = {
			dedupe: { ...defaultBirth.dedupe, ...pick(random, DEDUPE) },
			quiet: { ...defaultBirth.quiet, ...pick(random, QUIET) },
		};
		const [birth, plain] = [new Birth(settings), new PlainEngine(settings)];
		const texts: string[] = [];
		for (let at = 0, length = 1 + random(12); at < length; at++) {
			const result = randomResult(random, `call_${at}`, texts);
			const hidden = random(6);
			const isVisible = (id: string) => Number(id.slice(5)) % 6 !== hidden;
			const shown = birth.shorten(result, isVisible)?.text;
			const wanted = plain.shorten(result, isVisible);
			if (shown !== wanted) {
				const texts = JSON.stringify({ settings, text: result.text, wanted, shown }, null, "\t");
				throw new Error(`conversation ${seed}, result ${at}: ${texts}`);
			}
			birth.add(result, shown);
			plain.add(result, shown);
			if (result.text !== undefined) texts.push(result.text);
			played.results++;
			played.shortened += shown === undefined ? 0 : 1;
		}
	}
	return played;
}
