import Type from "typebox";
import { sessionCommand } from "./command-row.ts";
import { Count, oneOf, Path, Reference, text, whole } from "./field-schemas.ts";

const READ = { effect: "read", path: "control", timeout: "short" } as const;
/** The first question about a project may have to wait for its index. */
const CODE = { effect: "read", path: "control", timeout: "long" } as const;

const IncludeTests = Type.Optional(Type.Boolean());

/** Reads about what a session's model sees, what that costs, and the code of its project. */
export const insightCommands = {
	get_context_view: sessionCommand(READ, Type.Object({})),
	/** The text of one piece of the context view. */
	get_context_piece: sessionCommand(
		READ,
		Type.Object({ pieceId: Reference, offset: Type.Optional(Count) }),
	),
	get_cost: sessionCommand(READ, Type.Object({})),
	get_tiers: sessionCommand(READ, Type.Object({})),
	get_savings: sessionCommand(READ, Type.Object({})),

	/** The one question about code that never indexes a project. */
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
	/** `symbol` is a name or `Owner.member`; `file` narrows it to the definition there. */
	code_usages: sessionCommand(
		CODE,
		Type.Object({
			symbol: text({ max: 500 }),
			file: Type.Optional(Path),
			includeTests: IncludeTests,
		}),
	),
} as const;
