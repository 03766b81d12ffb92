/** Parser entry. A process, not a thread, since deeply nested text crashes the native parser. */
import module from "node:module";

// The environment is empty, so the folder is an argument. It must be set before the parser's code loads.
const compileCache = process.argv[3];
if (compileCache) module.enableCompileCache?.(compileCache);
await import("./serve-parser.ts");
