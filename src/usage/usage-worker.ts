import { serveJobs } from "../core/worker-entry.ts";
import type { FileUsage } from "./file-usage.ts";
import { readUsage } from "./read-usage.ts";

serveJobs<string, FileUsage>(readUsage);
