/** Worker entry: the one that writes the journal. Answers each request with one reply, in order. */
import { parentPort } from "node:worker_threads";
import { JournalFile } from "./journal-file.ts";
import type { WriterReply, WriterRequest } from "./messages.ts";

const file = new JournalFile();
let last: Promise<void> = Promise.resolve();

parentPort?.on("message", (request: WriterRequest) => {
	last = last.then(async () => {
		const reply: WriterReply = await file.handle(request);
		parentPort?.postMessage(reply);
		if (reply.kind === "closed") parentPort?.close();
	});
});
