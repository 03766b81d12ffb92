/** Worker entry: the index of one project. */
import { workerData } from "node:worker_threads";
import { describeError } from "../../core/errno.ts";
import { serveJobs } from "../../core/worker-entry.ts";
import { CodeIndexError, type IndexProgress } from "../code-index.ts";
import { IndexService } from "./index-service.ts";
import { type IndexCall, type IndexWorkerStart, toColumns } from "./messages.ts";

const { root, database, exclude } = workerData as IndexWorkerStart;
const service = new IndexService(root, database, exclude);

serveJobs<IndexCall, unknown, IndexProgress>(
	async (call, { signal, notify }) => {
		const options = { signal, onProgress: (progress: IndexProgress) => notify(progress) };
		try {
			if (call.method === "status") return await service.status();
			if (call.method === "build") return await service.build(options, call.query);
			return toColumns(await service.ask(call.method, call.query, options));
		} catch (error) {
			if (error instanceof CodeIndexError) throw error;
			// Drops the code of a system error, since it is not a code of `CodeIndexError`.
			throw new Error(describeError(error));
		}
	},
	{ onClose: () => service.close() },
);
