import type { FileJob } from "../core/file-workers.ts";
import { serveJobs } from "../core/worker-entry.ts";
import { readUsage } from "./read-usage.ts";

serveJobs(({ path }: FileJob) => readUsage(path));
