/** Answers reads with a marker or small diff if the model provably sees the file, otherwise as pi does. */
export { fileTouchOf, touchesExcluded } from "./file-touch.ts";
export { isCacheAnswer } from "./metadata.ts";
export { readCacheFolder } from "./store.ts";
