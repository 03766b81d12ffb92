/** Answers reads by a marker or small diff if the model provably sees the file, else as pi does. */
export { fileTouchOf, touchesExcluded } from "./file-touch.ts";
export { readCacheFolder } from "./store.ts";
