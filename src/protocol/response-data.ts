import type Type from "typebox";
import { CodeDepsAnswer, CodeSearchAnswer, CodeStatus, CodeUsagesAnswer } from "./code-data.ts";
import type { CommandType } from "./command-table.ts";
import { ContextPieceText, ContextView, Cost, Savings, Tiers } from "./context-data.ts";
import { serverData } from "./server-data.ts";
import { sessionData } from "./session-data.ts";

/** Schema of `data` in each successful response. */
export const responseData = {
	...serverData,
	...sessionData,
	get_context_view: ContextView,
	get_context_piece: ContextPieceText,
	get_cost: Cost,
	get_tiers: Tiers,
	get_savings: Savings,
	code_status: CodeStatus,
	code_search: CodeSearchAnswer,
	code_deps: CodeDepsAnswer,
	code_usages: CodeUsagesAnswer,
} as const satisfies Record<CommandType, Type.TSchema>;

export type ResponseData = { [Name in CommandType]: Type.Static<(typeof responseData)[Name]> };
