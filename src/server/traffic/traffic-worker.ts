import { sep } from "node:path";
import { workerData } from "node:worker_threads";
import { describeError } from "../../core/errno.ts";
import { serveJobs } from "../../core/worker-entry.ts";
import type { Data, ResponseData } from "../../protocol/index.ts";
import { Book, BookWatch, conversationReport, trafficFolder } from "../../traffic/index.ts";
import { conversationsView, reportView, requestView } from "./traffic-view.ts";

/** What to read from the book of traffic, and the answer; without a book there is nothing in it. */
export interface TrafficReads {
	list: { job: { limit: number }; answer: ResponseData["list_conversations"] };
	report: {
		job: { conversation: number; limit: number };
		answer: Data<"TrafficReport"> | undefined;
	};
	/** From here on, `news` has what is not yet in the book. */
	start: { job: object; answer: undefined };
	/** The requests since the last call; in a new worker, none. */
	news: { job: { limit: number }; answer: Billed[] };
}

type Billed = Extract<Data<"ServerEvent">, { type: "request_billed" }>["data"];

type Read = keyof TrafficReads;
export type TrafficJob = { [Name in Read]: { read: Name } & TrafficReads[Name]["job"] }[Read];

const folder = trafficFolder({ PI_CODING_AGENT_DIR: String(workerData) });
const watch = new BookWatch(folder);

serveJobs<TrafficJob, TrafficReads[Read]["answer"]>(
	async (job) => {
		try {
			return await answerTo(job);
		} catch (error) {
			// The error may go to a client, which must not see paths of the server.
			throw new Error(describeError(error).replaceAll(folder + sep, ""));
		}
	},
	{ onClose: () => watch.close() },
);

async function answerTo(job: TrafficJob): Promise<TrafficReads[Read]["answer"]> {
	if (job.read === "start") return void (await watch.start());
	if (job.read === "news") {
		const { requests, isPartial } = await watch.news(job.limit);
		const last = requests.at(-1);
		return requests.map((request) => ({
			conversation: request.conversation,
			request: requestView(request),
			...(isPartial && request === last && { more: true }),
		}));
	}
	const book = await Book.openForReading(folder);
	try {
		if (job.read === "list") {
			return conversationsView(book?.sums({ limit: job.limit + 1 }) ?? [], job.limit);
		}
		const report = book && conversationReport(book, job.conversation, job.limit);
		return report && reportView(report);
	} finally {
		book?.close();
	}
}
