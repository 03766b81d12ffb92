import type { CallOptions, CodeIndex, Coverage } from "../codeindex/index.ts";
import { AbortedError } from "../core/aborted.ts";
import { describeError } from "../core/errno.ts";
import { property } from "../core/property.ts";
import { clip } from "../text/clip.ts";
import { oneLine } from "../text/one-line.ts";
import { type Delivered, type Delivery, type Draft, deliver } from "./answer.ts";
import { coverageLine } from "./coverage-text.ts";
import { depsForms } from "./deps-text.ts";
import { impactForms } from "./impact-text.ts";
import { buildText } from "./index-text.ts";
import type { Asker, KotaProject } from "./project.ts";
import type { ProjectPaths } from "./project-paths.ts";
import { searchForms } from "./search-text.ts";
import { taskContextForms } from "./task-context-text.ts";
import {
	depsInput,
	impactQuery,
	searchInput,
	searchQuery,
	type ToolCalls,
	taskContextInput,
	usagesInput,
} from "./tools.ts";
import { usagesForms } from "./usages-text.ts";

export type ToolName = keyof ToolCalls;

/** What a call of a tool runs on. */
export interface ToolRun {
	readonly project: KotaProject;
	readonly paths: ProjectPaths;
	readonly asker: Asker;
	readonly delivery: Delivery;
	readonly now: () => number;
}

/** Answers a call within its budget. What goes wrong is thrown as an error whose message is for the model. */
export async function runTool<Name extends ToolName>(
	name: Name,
	call: ToolCalls[Name],
	run: ToolRun,
): Promise<Delivered> {
	try {
		return await deliver(await drafts[name](call, run), run.delivery);
	} catch (error) {
		throw toolError(error);
	}
}

/** The error that a person or the model is told. An abort has pi's own words. */
export function toolError(error: unknown): Error {
	if (property(error, "code") === "aborted" || property(error, "name") === "AbortError") {
		return new AbortedError(error);
	}
	return new Error(clip(oneLine(describeError(error)), ERROR_BYTES), { cause: error });
}

/** No message needs more; one that quotes a path or a query from outside could have any length. */
const ERROR_BYTES = 500;

const drafts: { [Name in ToolName]: (call: ToolCalls[Name], run: ToolRun) => Promise<Draft> } = {
	async kota_index({ path }, run) {
		refuseElsewhere(path, run.paths);
		const report = await run.project.build(run.asker);
		return {
			forms: [() => [{ head: [buildText(report)], items: [] }]],
			lastLine: coverageLine(report.coverage, run.now()),
		};
	},
	kota_search(call, run) {
		const input = searchInput(call);
		return answered(
			run,
			(index, options) => index.search(searchQuery(input), options),
			(answer) => searchForms(answer, input, run.paths),
		);
	},
	kota_deps(call, run) {
		const input = depsInput(call, run.paths.find);
		return answered(
			run,
			(index, options) => index.dependencies(input, options),
			(answer) => depsForms(answer, input, run.paths),
		);
	},
	kota_usages(call, run) {
		const input = usagesInput(call, run.paths.find);
		return answered(
			run,
			(index, options) => index.usages(input, options),
			(answer) => usagesForms(answer, input, run.paths),
		);
	},
	kota_impact(call, run) {
		const query = impactQuery(call, run.paths.find);
		return answered(
			run,
			(index, options) => index.impact(query, options),
			(answer) => impactForms(answer, run.paths),
		);
	},
	kota_task_context(call, run) {
		const input = taskContextInput(call, run.paths.find);
		return answered(
			run,
			(index, options) => index.taskContext(input, options),
			(answer) => taskContextForms(answer, input, run.paths),
		);
	},
};

/** Puts a question to the project's index, and says what it covers below the answer. */
async function answered<Answer extends { readonly coverage: Coverage }>(
	{ project, asker, now }: ToolRun,
	question: (index: CodeIndex, options: CallOptions) => Promise<Answer>,
	formsOf: (answer: Answer) => Draft["forms"],
): Promise<Draft> {
	const answer = await project.ask(question, asker);
	return { forms: formsOf(answer), lastLine: coverageLine(answer.coverage, now()) };
}

/** The tools know one project, that of the working folder: indexing another would help none of their answers. */
function refuseElsewhere(path: string | undefined, paths: ProjectPaths): void {
	if (path === undefined || path.trim() === "") return;
	const within = paths.find(path.trim());
	if (within !== ".." && !within.startsWith("../")) return;
	throw new Error(
		`${path} is outside of the project ${paths.root}, which is the one that is indexed: start pi there, or run \`strata index\` there`,
	);
}
