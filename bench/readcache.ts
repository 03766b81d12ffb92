/** What the read cache costs and saves, next to pi's own `read` of the same file in the same run. */
import { measureAbort } from "./readcache/abort.ts";
import { measureLargeFiles } from "./readcache/large-files.ts";
import { measureLongSession } from "./readcache/long-session.ts";
import { measureMemory } from "./readcache/memory.ts";
import { measureReplay } from "./readcache/replay.ts";
import { measureSingleReads } from "./readcache/single-reads.ts";
import { report } from "./support.ts";

report([
	...(await measureSingleReads()),
	...(await measureLargeFiles()),
	...(await measureLongSession()),
	...(await measureAbort()),
	...(await measureMemory()),
	...(await measureReplay()),
]);
