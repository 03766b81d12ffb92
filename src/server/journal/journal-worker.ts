import { serveJobs } from "../../core/worker-entry.ts";
import { JournalFile } from "./journal-file.ts";
import type { WriterReply, WriterRequest } from "./messages.ts";

const file = new JournalFile();
serveJobs<WriterRequest, WriterReply>((request) => file.handle(request));
