/**
 * The read cache: a file the model provably still has in view is answered with a marker or a small diff. Every
 * doubt ends in pi's own answer.
 */
export { fileTouchOf, touchesExcluded } from "./file-touch.ts";
export { readCacheFolder } from "./store.ts";
