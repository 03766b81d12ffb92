// What only the compiler can tell: `npm run check` fails where these do not hold. Nothing of it runs.
import type {
	AgentSession,
	AgentSessionEvent,
	CompactionResult,
	SessionStats,
} from "@earendil-works/pi-coding-agent";
import type Type from "typebox";
import { describe, expectTypeOf, test } from "vitest";
import type * as codeindex from "../../src/codeindex/index.ts";
import type { ReplayReport as Report } from "../../src/economy/replay/index.ts";
import type * as schemas from "../../src/protocol/envelope.ts";
import type { Command, CommandOf, Data, Response, ResponseData } from "../../src/protocol/index.ts";

describe("the types", () => {
	test("a command is told apart by its type and knows its fields", () => {
		expectTypeOf<CommandOf<"prompt">["waitFor"]>().toEqualTypeOf<
			"accepted" | "settled" | undefined
		>();
		expectTypeOf<CommandOf<"prompt">["sessionId"]>().toEqualTypeOf<string>();
		expectTypeOf<CommandOf<"create_session">["sessionId"]>().toEqualTypeOf<string | undefined>();
		expectTypeOf<Extract<Command, { type: "bash" }>["command"]>().toEqualTypeOf<string>();
		expectTypeOf<CommandOf<"list_sessions">>().not.toHaveProperty("sessionId");
	});

	test("the schemas of the envelope say what its types say", () => {
		expectTypeOf<Type.Static<typeof schemas.Response>>().toEqualTypeOf<Response>();
		expectTypeOf<Type.Static<typeof schemas.LifecycleData>>().toEqualTypeOf<
			Data<"LifecycleData">
		>();
		expectTypeOf<Type.Static<typeof schemas.ErrorCode>>().toEqualTypeOf<Data<"ErrorCode">>();
	});

	test("what pi says fits, once growing messages have become deltas", () => {
		type BashResult = Awaited<ReturnType<AgentSession["executeBash"]>>;
		type Said = Exclude<AgentSessionEvent, { type: "message_update" }>;
		expectTypeOf<Said>().toExtend<Sent<Data<"SessionEvent">>>();
		expectTypeOf<BashResult>().toExtend<Sent<ResponseData["bash"]>>();
		expectTypeOf<SessionStats>().toExtend<Sent<ResponseData["get_session_stats"]>>();
		expectTypeOf<CompactionResult>().toExtend<Sent<ResponseData["compact"]>>();
	});

	test("answers about code and replays are what the systems give", () => {
		expectTypeOf<codeindex.SearchAnswer>().toExtend<Sent<ResponseData["code_search"]>>();
		expectTypeOf<codeindex.DependenciesAnswer>().toExtend<Sent<ResponseData["code_deps"]>>();
		expectTypeOf<codeindex.UsagesAnswer>().toExtend<Sent<ResponseData["code_usages"]>>();
		expectTypeOf<Report>().toExtend<Sent<ResponseData["replay_session"]>>();
	});
});

/** What may be sent as T: JSON does not care about `readonly`, and leaves out what is undefined. */
type Sent<T> = T extends object
	? {
			readonly [Key in keyof T]:
				| Sent<T[Key]>
				| (Partial<Pick<T, Key>> extends Pick<T, Key> ? undefined : never);
		}
	: T;
