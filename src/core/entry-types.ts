/* Session files store these values and other systems read them, so they never change. */

export const WORKSET_ENTRY = "strata-workset";

export const BRIEFING_ENTRY = "kota-context";

/** Names files that the model saw before a compaction. */
export const SEEN_FILES_ENTRY = "strata-seen-files";

/** Pins and unpins of tool results, for branches that contain the entry. */
export const PIN_ENTRY = "pi-kota-pin";

/** Some lines count as unread from here on. Named after pi-readcache, a program whose sessions we read. */
export const INVALIDATION_ENTRY = "pi-readcache";

/** Answers to the user's commands. Shown to the user, never sent to the model. */
export const REPORT_ENTRY = "strata-report";

/** The provider clears all results up to one from here on, or no more. */
export const CLEARING_ENTRY = "strata-clearing";

/** Pending edits that a request shows, recorded before its answer: thinking may be bound to them. */
export const SHOWN_EDITS_ENTRY = "strata-shown-edits";
