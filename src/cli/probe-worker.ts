import { parentPort } from "node:worker_threads";

/** `strata doctor` starts this to check that worker threads run. */
parentPort?.postMessage("ready");
