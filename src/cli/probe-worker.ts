import { parentPort } from "node:worker_threads";

/** Started by `strata doctor` to see whether worker threads of this installation run. */
parentPort?.postMessage("ready");
