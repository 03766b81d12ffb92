import { serveJobs } from "../../core/worker-entry.ts";
import { JournalFile } from "./journal-file.ts";
import type { WriterJob, WriterReply } from "./messages.ts";

const file = new JournalFile();
serveJobs<WriterJob, WriterReply>((job) => file.handle(job));
