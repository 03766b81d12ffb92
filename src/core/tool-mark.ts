/**
 * A variable that all processes of a server inherit. The server's guard ends what has it when the server is killed, so a
 * process that belongs to the user, such as a browser, is started without it.
 */
export const TOOL_MARK = "STRATA_TOOLS_OF";
