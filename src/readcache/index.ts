/** Answers with a marker or a small diff when the model provably sees the file, else as pi does. */
export { fileTouchOf, touchesExcluded } from "./file-touch.ts";
export { readCacheFolder } from "./store.ts";
