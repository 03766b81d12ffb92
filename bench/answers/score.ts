import { searchInput } from "../../src/code/index.ts";
import { searchQuery } from "../../src/code/tool-inputs.ts";
import type { AnswerOf, CodeIndex } from "../../src/codeindex/index.ts";
import type { Question } from "./questions.ts";

export interface Score {
	readonly question: Question;
	/** Place of the first right symbol and file in the answer, from 1 on. Absent: not among them. */
	readonly symbolAt?: number;
	readonly fileAt?: number;
}

/** How many symbols of a file the answer's text shows. */
const SHOWN = 3;

/** Asks as the tool kota_search does, without options. Throws if an answer is no symbol of the repository. */
export async function scoreOf(index: CodeIndex, question: Question): Promise<Score> {
	for (const answer of question.answers) await requireSymbol(index, answer);
	const found = await index.search(searchQuery(searchInput({ query: question.ask })));
	const symbols = found.hits.flatMap(({ path, symbols }) =>
		symbols.slice(0, SHOWN).map((symbol) => {
			const { owner, name } = symbol;
			return `${plain(path)}#${owner === undefined ? name : `${owner}.${name}`}`;
		}),
	);
	const files = question.answers.map((answer) => answer.slice(0, answer.indexOf("#")));
	const symbolAt = symbols.findIndex((symbol) => question.answers.includes(symbol)) + 1;
	const fileAt = found.hits.findIndex(({ path }) => files.includes(plain(path))) + 1;
	return { question, ...(symbolAt > 0 && { symbolAt }), ...(fileAt > 0 && { fileAt }) };
}

/** A declaration file stands for its JavaScript. */
function plain(path: string): string {
	return path.replace(/\.d\.([cm]?)ts$/, ".$1js");
}

async function requireSymbol(index: CodeIndex, answer: string): Promise<void> {
	const [file = "", symbol = ""] = splitOnce(answer);
	const { definitions }: AnswerOf<"usages"> = await index.usages({ symbol, file });
	if (definitions.length === 0) throw new Error(`${answer} does not exist: correct the question`);
}

function splitOnce(answer: string): [string, string] {
	const at = answer.indexOf("#");
	return [answer.slice(0, at), answer.slice(at + 1)];
}
