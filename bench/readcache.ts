/** The cost and savings of the read cache, compared with pi's own `read` of the same file in the same run. */
import { measureAbort } from "./readcache/abort.ts";
import { measureGeneratedSessions } from "./readcache/generated-sessions.ts";
import { measureLargeFiles } from "./readcache/large-files.ts";
import { measureLongSession } from "./readcache/long-session.ts";
import { measureMemory } from "./readcache/memory.ts";
import { measureSingleReads } from "./readcache/single-reads.ts";
import { report } from "./support.ts";

report([
	...(await measureSingleReads()),
	...(await measureLargeFiles()),
	...(await measureLongSession()),
	...(await measureAbort()),
	...(await measureMemory()),
	...(await measureGeneratedSessions()),
]);
