/* Session files hold these values, and other systems know them: they never change. */

export const WORKSET_ENTRY = "strata-workset";

export const BRIEFING_ENTRY = "kota-context";

/** Pins and unpins of tool results; each branch has its own. */
export const PIN_ENTRY = "pi-kota-pin";

/** From this entry on, some lines count as unread. Named after a program whose sessions we read. */
export const INVALIDATION_ENTRY = "pi-readcache";

/** Answers of commands: shown to people, never sent to the model. */
export const REPORT_ENTRY = "strata-report";

/** Edits shown before the session has them; precede the answer whose thinking is bound to them. */
export const SHOWN_EDITS_ENTRY = "strata-shown-edits";
