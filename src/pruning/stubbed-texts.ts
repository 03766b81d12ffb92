import { existsSync } from "node:fs";
import { createBlobStore } from "../core/blob-store.ts";
import { guardBlobs } from "../core/excluded-values.ts";
import { shownPath } from "../core/places.ts";
import type { SessionView } from "../session/index.ts";
import { isStub } from "./stub.ts";
import { resultsIn } from "./survey.ts";

/**
 * Stores the full texts behind the stubs of a session whose blobs are not here, as in a session that another machine
 * had. The session keeps what the tools returned. A text that was shortened at birth is not in it, and stays away.
 */
export async function storeMissingTexts(session: SessionView): Promise<void> {
	const { ledger, sessionManager, config, values } = session;
	const blobs = guardBlobs(createBlobStore(config.blobs), values);
	for (const { text, returned } of resultsIn(ledger.log(sessionManager).items).values()) {
		if (text === undefined || returned === undefined || text === returned) continue;
		if (!isStub(text)) continue;
		const { path } = blobs.nameOf(returned);
		if (!text.endsWith(` ${shownPath(path)}`) || existsSync(path)) continue;
		const kept = await blobs.keep(returned);
		if (kept.kind === "not-kept") return; // the store is at fault: reading the path says so
	}
}
