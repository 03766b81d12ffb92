import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { getAgentDir } from "@earendil-works/pi-coding-agent";
import { markSession, type SessionMark } from "../core/session-marks.ts";

/** Marks each session file as open while pi has it open: the server then works on a copy of it. */
export function markSessions(pi: ExtensionAPI): void {
	let mark: SessionMark | undefined;
	pi.on("session_start", (_event, ctx) => {
		void mark?.remove();
		const file = ctx.sessionManager.getSessionFile();
		mark = file === undefined ? undefined : markSession(getAgentDir(), file);
	});
	pi.on("session_shutdown", async () => {
		await mark?.remove();
		mark = undefined;
	});
}
