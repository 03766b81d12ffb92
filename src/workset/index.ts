/** The working set: files that stand in every request, always as they are now, laid out so that caches keep hitting. */
export { type Selection, type SelectionChange, selectionOf } from "./selection.ts";
