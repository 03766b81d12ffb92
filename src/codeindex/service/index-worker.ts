/** Worker entry: the index of one project, which answers one call after the other. */
import { parentPort, workerData } from "node:worker_threads";
import { describeError } from "../../core/errno.ts";
import { CodeIndexError } from "../code-index.ts";
import { toColumns } from "./answer-columns.ts";
import { IndexService } from "./index-service.ts";
import type { IndexReply, IndexRequest, IndexWorkerStart } from "./messages.ts";
import { questionOf } from "./questions.ts";

const { root, database } = workerData as IndexWorkerStart;
const service = new IndexService(root, database);
/** Calls that have no answer yet, by number. */
const calls = new Map<number, AbortController>();
let last: Promise<void> = Promise.resolve();

parentPort?.on("message", (request: IndexRequest) => {
	switch (request.kind) {
		case "call":
			calls.set(request.call, new AbortController());
			last = last.then(() => handle(request));
			return;
		case "abort":
			calls.get(request.call)?.abort();
			return;
		case "close":
			for (const call of calls.values()) call.abort();
			void last.then(() => {
				service.close();
				parentPort?.close();
			});
	}
});

async function handle(request: IndexRequest & { kind: "call" }): Promise<void> {
	const { call } = request;
	const controller = calls.get(call) ?? new AbortController();
	try {
		reply({ kind: "answer", call, value: await answer(request, controller.signal) });
	} catch (error) {
		const code = error instanceof CodeIndexError ? error.code : "failed";
		reply({ kind: "failure", call, code, message: describeError(error) });
	} finally {
		calls.delete(call);
	}
}

async function answer(
	{ call, method, query }: IndexRequest & { kind: "call" },
	signal: AbortSignal,
): Promise<unknown> {
	if (signal.aborted) throw new CodeIndexError("aborted", "The call was aborted before it began.");
	const options = {
		signal,
		onProgress: (progress: (IndexReply & { kind: "progress" })["progress"]) =>
			reply({ kind: "progress", call, progress }),
	};
	if (method === "status") return await service.status();
	if (method === "build") return await service.build(options);
	return toColumns(await service.ask(questionOf(root, method, query), options));
}

function reply(message: IndexReply): void {
	parentPort?.postMessage(message);
}
