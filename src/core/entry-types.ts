/*
 * The types of the entries and messages that we put into pi's sessions. Session files hold them, and other systems know
 * them by these names: a value never changes.
 */

/** Changes of the selection of working files, and the messages that hold these files. */
export const WORKSET_ENTRY = "strata-workset";

/** The messages with a briefing for a prompt that names files. */
export const BRIEFING_ENTRY = "kota-context";

/** Pins and unpins of tool results. They stand on a branch, so each branch has its own. */
export const PIN_ENTRY = "pi-kota-pin";

/** From here on, some lines count as not read. The name is that of the program whose sessions we understand. */
export const INVALIDATION_ENTRY = "pi-readcache";

/** What a command answers: shown to people and never sent to the model. */
export const REPORT_ENTRY = "strata-report";

/** Edits that a request shows before the session has them. They stand before its answer, whose thinking is bound to them. */
export const SHOWN_EDITS_ENTRY = "strata-shown-edits";
