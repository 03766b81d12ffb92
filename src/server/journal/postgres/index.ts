/** What commands of the CLI use of the database, without the server. */
export { lockDataFolder } from "../../data-folder.ts";
export { checkDatabase } from "./database-checks.ts";
export { type DatabaseAddress, databaseFrom } from "./database-url.ts";
export { homeOf } from "./home.ts";
export { importJournal } from "./import-journal.ts";
export { addToken, listTokens, revokeTokens, withDatabase } from "./token-table.ts";
