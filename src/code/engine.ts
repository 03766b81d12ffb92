import type {
	AnswerOf,
	Asked,
	CallOptions,
	CodeIndex,
	Covered,
	ImpactQuery,
	QueryOf,
	QuestionName,
	SymbolMapQuery,
} from "../codeindex/index.ts";
import type { Config } from "../core/config.ts";
import { depsForms, impactForms, symbolMapForms, taskContextForms } from "./files-text.ts";
import { coverageLine, type Outline, ofManyFiles, type Reader, wholeText } from "./outline.ts";
import { searchForms } from "./search-text.ts";
import {
	type DepsInput,
	type SearchInput,
	searchQuery,
	type TaskContextInput,
	type UsagesInput,
} from "./tools.ts";
import { usagesForms } from "./usages-text.ts";

export interface Engine extends CodeIndex {
	/** The last stderr lines of an external engine. */
	stderr?(): readonly string[];
}

/** Opens the configured engine. Its code is loaded lazily, with the first question. */
export async function openEngine(settings: Config["kota"], root: string): Promise<Engine> {
	if (settings.engine === "external") {
		const { openExternalKota } = await import("./external/index.ts");
		const { command, args, timeoutSeconds } = settings;
		return openExternalKota({ command, args, root, timeoutMs: timeoutSeconds * 1000 });
	}
	const { openCodeIndex } = await import("../codeindex/index.ts");
	return openCodeIndex({ root });
}

interface Inputs extends Record<QuestionName, object> {
	search: SearchInput;
	dependencies: DepsInput;
	usages: UsagesInput;
	impact: ImpactQuery;
	taskContext: TaskContextInput;
	symbolMap: SymbolMapQuery;
}

export type InputOf<Name extends QuestionName> = Inputs[Name];

/** Maps a question to its query and to the forms of its answer, fullest first. */
export const topics: {
	readonly [Name in QuestionName]: {
		query(input: Inputs[Name]): QueryOf<Name>;
		forms(answer: AnswerOf<Name>, input: Inputs[Name], reader: Reader): readonly (() => Outline)[];
	};
} = {
	search: { query: searchQuery, forms: searchForms },
	dependencies: { query: same, forms: depsForms },
	usages: { query: same, forms: usagesForms },
	impact: { query: same, forms: impactForms },
	taskContext: { query: same, forms: taskContextForms },
	symbolMap: { query: same, forms: symbolMapForms },
};

function same<Input>(input: Input): Input {
	return input;
}

export async function answerTo<Name extends QuestionName>(
	name: Name,
	input: InputOf<Name>,
	reader: Reader,
	engine: Asked,
	{ signal, onProgress }: CallOptions = {},
): Promise<{ readonly answer: AnswerOf<Name>; readonly text: () => string }> {
	const { query, forms } = topics[name];
	const answer = await engine[name](query(input), {
		...(signal && { signal }),
		...(onProgress && { onProgress: ofManyFiles(onProgress) }),
	});
	const { coverage }: Covered = answer;
	const text = () => {
		const [first] = forms(answer, input, reader);
		const lastLine = coverageLine(coverage, Date.now(), reader.advice);
		return `${first ? wholeText(first()) : ""}\n${lastLine}`;
	};
	return { answer, text };
}
