import type { FileFacts } from "../facts.ts";
import { describeBindings, describedBindings } from "./bindings.ts";
import { exportCommonJs } from "./commonjs.ts";
import { declareStatements } from "./declare.ts";
import { walkDocs } from "./docs.ts";
import { type Draft, newDraft } from "./draft.ts";
import { exportStatement } from "./exports.ts";
import { letGo, type Parsed, parse } from "./parse.ts";
import { positionsOf } from "./positions.ts";
import { recoverModule } from "./recover.ts";
import { walkProgram } from "./walk.ts";

/**
 * What a source says by itself. The language follows from the path's ending. It is pure and never throws: of a source
 * that cannot be understood it gives what can, with the status `broken`.
 */
export function extractFacts(path: string, source: string): FileFacts {
	const positions = positionsOf(source);
	const parsed = parse(path, source, positions);
	const draft = newDraft(path, source, positions);
	const problem = fill(draft, parsed) ?? parsed.problem;
	letGo(parsed);
	return {
		status: problem === undefined ? "parsed" : "broken",
		...(problem !== undefined && { problem }),
		isModule: draft.isModule || isModuleFile(path) || (draft.isJavaScript && draft.commonJs),
		lines: positions.lines,
		requests: draft.requests,
		bindings: describedBindings(draft),
		exports: draft.exports,
		references: draft.references,
		looseAccesses: draft.looseAccesses,
	};
}

/** Gathers the facts; gives the problem that stopped it. What was gathered before stays. */
function fill(draft: Draft, { program, module, problem }: Parsed): string | undefined {
	draft.isModule = module?.hasModuleSyntax ?? false;
	if (module && problem !== undefined && !program?.body.length) recoverModule(draft, module);
	if (!program) return undefined;
	try {
		draft.isModule ||= program.body.some((node) => MODULE_STATEMENTS.has(node.type));
		declareStatements(draft, draft.top, program.body);
		for (const statement of program.body) {
			if (draft.isModule) exportStatement(draft, statement);
			else exportCommonJs(draft, statement);
		}
		describeBindings(draft);
		walkProgram(draft, program);
		walkDocs(draft);
		return undefined;
	} catch (error) {
		// A tree can be deeper than the stack of the code that walks it.
		if (error instanceof RangeError) return "nested too deeply to be read";
		throw error;
	}
}

const MODULE_STATEMENTS = new Set(["TSExportAssignment"]);

/** Files with these endings are modules whatever they contain. */
function isModuleFile(path: string): boolean {
	return /\.[cm][jt]s$/i.test(path) && !/\.d\.[cm]ts$/i.test(path);
}
