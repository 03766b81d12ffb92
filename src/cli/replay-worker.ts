import { serveJobs } from "../core/worker-entry.ts";
import { replayFile } from "./replay-file.ts";

serveJobs(replayFile);
