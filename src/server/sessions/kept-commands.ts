import type { AgentSession } from "@earendil-works/pi-coding-agent";
import type { Command, CommandType } from "../../protocol/index.ts";
import type { Basis } from "./kept-answers.ts";
import type { LiveSession } from "./live-session.ts";

type Source = Pick<LiveSession, "session" | "revision">;

/**
 * What the answer to a read is made of, for those reads whose answer is large, or long in the making, and depends on the
 * session alone; `undefined` where it must be made each time. Reads of files, of settings and of models are not among
 * them. Neither is anything while pi works: it changes the last message in place.
 */
export function basisOf(command: Command, live: Source): Basis | undefined {
	const { session } = live;
	if (session.isStreaming || session.isCompacting) return undefined;
	const list = BASES[command.type]?.(session);
	return list && { facts: [live.revision(), session, ...list.facts], list: list.list };
}

/** The name of a read: its fields without those of the envelope. */
export function readName(command: Command): string {
	const { id, dependsOn, ifSessionVersion, idempotencyKey, ...read } = command;
	return JSON.stringify(read);
}

const BASES: { readonly [Type in CommandType]?: (session: AgentSession) => Basis } = {
	get_messages: (session) => ({ facts: [], list: session.messages }),
	get_tree: entriesOf,
	get_entries: entriesOf,
	get_context_view: contextOf,
	get_context_piece: contextOf,
};

function entriesOf({ sessionManager }: AgentSession): Basis {
	return { facts: [sessionManager, sessionManager.getLeafId()], list: sessionManager.getEntries() };
}

/** See `sourceOf` in `inspector.ts`. */
function contextOf(session: AgentSession): Basis {
	const { sessionManager, model, systemPrompt } = session;
	const { facts, list } = entriesOf(session);
	const tools = session
		.getAllTools()
		.flatMap(({ name, description, parameters }) => [name, description, parameters]);
	const more = [sessionManager.getCwd(), sessionManager.getHeader(), model, systemPrompt];
	return { facts: [...facts, ...more, ...session.getActiveToolNames(), ...tools], list };
}
