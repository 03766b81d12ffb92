import type { Data } from "../../protocol/index.ts";
import { client } from "../connection/connection.ts";
import { errorMessage } from "../parts/figures.ts";
import { orToast, toast } from "../parts/notices.tsx";
import { DEFAULT_VIEW, navigate } from "../route.ts";

/** Shows a stored session: open, followed if a pi in a terminal has it, or read-only. */
export async function openStored(stored: Data<"StoredSession">): Promise<void> {
	const { sessionPath, sessionId, piProcess } = stored;
	const watch = piProcess !== undefined;
	try {
		const loaded =
			sessionId === undefined
				? (await client().request("load_session", { sessionPath, watch })).data
				: { sessionId };
		if ("warning" in loaded && loaded.warning) toast(loaded.warning, "warning");
		navigate({ page: "session", sessionId: loaded.sessionId, view: DEFAULT_VIEW });
	} catch (problem) {
		// Its folder may be gone. What it says can still be read.
		toast(`Opened read-only: ${errorMessage(problem)}`, "warning");
		navigate({ page: "stored", path: sessionPath });
	}
}

/**
 * Keeps a session open that another took the place of, by /new, /clone or Fork: otherwise it would be gone from the list
 * without a word. Without messages it has no file, and nothing is lost.
 */
export async function openBeside(before: Origin | undefined): Promise<void> {
	const { sessionFile: sessionPath, messageCount = 0 } = before ?? {};
	if (sessionPath === undefined || messageCount === 0) return;
	const opened = await orToast(client().request("load_session", { sessionPath }));
	if (opened) toast("The session as it was is still open, beside this one: see Sessions.");
}

export type Origin = Pick<Data<"SessionState">, "sessionFile" | "messageCount">;
