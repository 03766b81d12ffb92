import { serveJobs } from "../../core/worker-entry.ts";
import { findSessions } from "../../importers/index.ts";
import { type FoundFile, type FoundPage, inOrder, type PageQuery, pageOf } from "./found-page.ts";

/** A page of the files, or the file of an id. */
export type FindJob = { readonly query: PageQuery } | { readonly fileId: string };

/** `page` for a query; `file` for an id, unless no file has it. */
export interface FindAnswer {
	readonly page?: FoundPage;
	readonly file?: FoundFile;
}

let files: readonly FoundFile[] = [];
let foundAtMs = Number.NEGATIVE_INFINITY;
/** The list is used for a while, so that looking takes a fifth of the time at most. */
let freshMs = 0;

serveJobs<FindJob, FindAnswer>(async (job) => {
	const isOld = performance.now() - foundAtMs > freshMs;
	if ("query" in job) {
		// Further pages are of the list that the client has seen, if this worker made it.
		const isSeen = job.query.after !== undefined && files.length > 0;
		if (isOld && !isSeen) await findAgain();
		return { page: pageOf(files, job.query) };
	}
	const known = () => files.find(({ fileId }) => fileId === job.fileId);
	if (isOld && !known()) await findAgain();
	const file = known();
	return file ? { file } : {};
});

async function findAgain(): Promise<void> {
	const startMs = performance.now();
	files = inOrder(await findSessions());
	foundAtMs = performance.now();
	freshMs = 4 * (foundAtMs - startMs);
}
