import type { FileFacts } from "../facts.ts";
import { describeBindings } from "./bindings.ts";
import { blockVisits } from "./blocks.ts";
import { declareStatements } from "./declare.ts";
import { walkDocs } from "./docs.ts";
import { Draft, positionsOf } from "./draft.ts";
import { exportCommonJs, exportStatement } from "./exports.ts";
import { expressionVisits, reach } from "./expressions.ts";
import { recoverModule } from "./imports.ts";
import { languageOf, type Parsed, parse, release } from "./parse.ts";
import { typeVisits } from "./types.ts";
import { walkProgram } from "./walk.ts";

/** Extracts facts; the extension selects the language. Pure, never throws: errors set `broken`. */
export function extractFacts(path: string, source: string): FileFacts {
	const positions = positionsOf(source);
	const parsed = parse(path, source, positions);
	const draft = new Draft(source, positions, languageOf(path));
	const problem = fill(draft, parsed) ?? parsed.problem;
	release(parsed);
	return {
		status: problem === undefined ? "parsed" : "broken",
		...(problem !== undefined && { problem }),
		isModule: draft.isModule || isModuleFile(path) || (draft.isJavaScript && draft.commonJs),
		lines: positions.lines,
		requests: draft.requests,
		bindings: draft.bindings.filter((binding) => binding.kind !== "pending"),
		exports: draft.exports,
		references: draft.references,
		looseAccesses: draft.looseAccesses,
	};
}

function fill(draft: Draft, { program, module, problem }: Parsed): string | undefined {
	draft.isModule = module?.hasModuleSyntax ?? false;
	if (module && problem !== undefined && !program?.body.length) recoverModule(draft, module);
	if (!program) return undefined;
	try {
		draft.isModule ||= program.body.some((node) => node.type === "TSExportAssignment");
		const top = { draft, scope: draft.top };
		declareStatements(top, program.body);
		for (const statement of program.body) {
			if (draft.isModule) exportStatement(draft, statement);
			else exportCommonJs(top, statement);
		}
		describeBindings(draft);
		walkProgram(draft, program, VISITS, reach);
		walkDocs(draft);
		return undefined;
	} catch (error) {
		// A tree can be deeper than our stack.
		if (error instanceof RangeError) return "nested too deeply to be read";
		throw error;
	}
}

const VISITS = { ...expressionVisits, ...typeVisits, ...blockVisits };

function isModuleFile(path: string): boolean {
	return /\.[cm][jt]s$/i.test(path) && !/\.d\.[cm]ts$/i.test(path);
}
