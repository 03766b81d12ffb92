/* Session files store these values and other systems read them, so they never change. */

export const WORKSET_ENTRY = "strata-workset";

export const BRIEFING_ENTRY = "kota-context";

/** Pins and unpins of tool results, for branches that contain the entry. */
export const PIN_ENTRY = "pi-kota-pin";

/** Some lines count as unread from here on. Named after pi-readcache, a program whose sessions we read. */
export const INVALIDATION_ENTRY = "pi-readcache";

/** Answers to the user's commands. Shown to the user, never sent to the model. */
export const REPORT_ENTRY = "strata-report";

/** Pending edits, recorded before the answer whose thinking is bound to them. */
export const SHOWN_EDITS_ENTRY = "strata-shown-edits";
