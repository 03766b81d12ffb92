import { realOrGiven } from "../../core/places.ts";
import type { ResponseData } from "../../protocol/index.ts";
import type { Handlers } from "../engine/call.ts";
import type { StreamName } from "../journal/journal.ts";
import type { SessionTable } from "./session-table.ts";

/** Reports of a pi in a terminal. Only the reporting principal's own sessions show them. */
export function createProgressHandlers(
	table: Pick<SessionTable, "watching">,
	hasListeners: (name: StreamName) => boolean = () => true,
) {
	return {
		async report_progress({ command, principal }) {
			const held = table.watching(principal, realOrGiven(command.sessionPath));
			// A session that no client has used since the start of the server is not open.
			const has = held?.current?.showProgress(command) ?? [];
			const watched = held?.current !== undefined && hasListeners(held);
			return { data: { watched, has } satisfies ResponseData["report_progress"] };
		},
	} satisfies Partial<Handlers>;
}
