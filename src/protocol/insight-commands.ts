import Type from "typebox";
import { sessionCommand } from "./command-row.ts";
import { Count, oneOf, Path, Reference, text, whole } from "./field-schemas.ts";

const READ = { effect: "read", path: "control", timeout: "short" } as const;
/** The first question may wait for the project's index. */
const CODE = { effect: "read", path: "control", timeout: "long" } as const;

const IncludeTests = Type.Optional(Type.Boolean());

export const insightCommands = {
	get_context_view: sessionCommand(READ, Type.Object({})),
	get_context_piece: sessionCommand(
		READ,
		Type.Object({ pieceId: Reference, offset: Type.Optional(Count) }),
	),
	get_cost: sessionCommand(READ, Type.Object({})),
	get_tiers: sessionCommand(READ, Type.Object({})),
	get_savings: sessionCommand(READ, Type.Object({})),

	/** Never indexes a project, unlike the other code commands. */
	code_status: sessionCommand(CODE, Type.Object({})),
	code_search: sessionCommand(
		CODE,
		Type.Object({
			query: text({ max: 1000 }),
			limit: Type.Optional(whole(1, 200)),
			contextLines: Type.Optional(whole(0, 20)),
			glob: Type.Optional(text({ max: 1000 })),
			includeTests: IncludeTests,
		}),
	),
	code_deps: sessionCommand(
		CODE,
		Type.Object({
			path: Path,
			depth: Type.Optional(whole(1, 10)),
			direction: Type.Optional(oneOf("dependents", "dependencies", "both")),
			includeTests: IncludeTests,
		}),
	),
	/** `symbol` is a name or `Owner.member`; `file` selects the definition there. */
	code_usages: sessionCommand(
		CODE,
		Type.Object({
			symbol: text({ max: 500 }),
			file: Type.Optional(Path),
			includeTests: IncludeTests,
		}),
	),
} as const;
