import { serveJobs } from "../../src/core/worker-entry.ts";
import { handleToy } from "./file-toy.ts";

serveJobs(handleToy);
