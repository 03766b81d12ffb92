/** How often a search names the right symbol: questions with known answers about three repositories. */
import { join } from "node:path";
import { openCodeIndex } from "../src/codeindex/index.ts";
import { QUESTIONS, type Repository } from "./answers/questions.ts";
import { copyRepository } from "./answers/repositories.ts";
import { type Score, scoreOf } from "./answers/score.ts";
import { type Line, report, sized, tempFolder } from "./support.ts";

const folder = tempFolder();
const scores: Score[] = [];
const names: readonly Repository[] = sized(["strata", "pi", "undici"], ["undici"]);
for (const name of names) {
	const index = openCodeIndex({
		root: copyRepository(name, folder),
		folder: join(folder, "cache"),
	});
	await index.build();
	for (const question of QUESTIONS[name]) scores.push(await scoreOf(index, question));
	await index.close();
}
const halves = Object.entries({
	"questions looked at": scores.filter(({ question }) => !question.heldOut),
	"questions held out": scores.filter(({ question }) => question.heldOut),
	"all questions": scores,
});
report(halves.flatMap(([half, some]) => linesOf(half, some)));

/** Targets hold for all questions of a full run. */
function linesOf(half: string, some: readonly Score[]): Line[] {
	const share = (isRight: (score: Score) => boolean) =>
		(100 * some.filter(isRight).length) / some.length;
	const line = (what: string, atLeast: number, isRight: (score: Score) => boolean): Line => ({
		...{ case: `${half}: ${what}`, unit: "%", value: share(isRight), better: "higher" },
		...(half === "all questions" && sized(true, false) && { atLeast }),
		from: { questions: some.length },
	});
	return [
		line("right symbol among the first 3", 85, ({ symbolAt = 99 }) => symbolAt <= 3),
		line("right file among the first 3", 95, ({ fileAt = 99 }) => fileAt <= 3),
	];
}
