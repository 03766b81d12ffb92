export { extractFacts } from "./extract.ts";
export { type FileWords, fileWords, identifierWords } from "./words.ts";
