import type { CodeIndex } from "../code-index.ts";
import { dependencies, impact, search, symbolMap, taskContext, usages } from "../queries/index.ts";
import { readSource } from "../read-source.ts";
import type { Question } from "./index-service.ts";
import type { Method } from "./messages.ts";

/** The methods that put a question to the files. */
export type QuestionMethod = Exclude<Method, "status" | "build">;

/** The question that a call of a method puts. Its query crossed threads, so its type is the caller's word. */
export function questionOf(root: string, method: QuestionMethod, query: unknown): Question<object> {
	switch (method) {
		case "search":
			return (reader) => search(reader, query as QueryOf<"search">, textReader(root));
		case "dependencies":
			return (reader) => dependencies(reader, query as QueryOf<"dependencies">);
		case "usages":
			return (reader) => usages(reader, query as QueryOf<"usages">);
		case "impact":
			return (reader) => impact(reader, query as QueryOf<"impact">);
		case "taskContext":
			return (reader) => taskContext(reader, query as QueryOf<"taskContext">);
		case "symbolMap":
			return (reader) => symbolMap(reader, query as QueryOf<"symbolMap">);
	}
}

type QueryOf<M extends QuestionMethod> = Parameters<CodeIndex[M]>[0];

function textReader(root: string) {
	return (path: string): string | undefined => {
		const source = readSource(root, path);
		return source.kind === "read" ? source.bytes.toString("utf8") : undefined;
	};
}
