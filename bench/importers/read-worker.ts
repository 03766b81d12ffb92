import { serveJobs } from "../../src/core/worker-entry.ts";
import { readFile } from "./read-file.ts";

serveJobs(readFile);
