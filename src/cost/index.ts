/** What a session cost and saved, from its entries: pi's commands and the server's views show the same figures. */

export { type RequestPlace, requestPlaces } from "./cost-turns.ts";
export { editsIn } from "./entries.ts";
export { removedBy, removedFromNext, type SavingSystem } from "./removed-text.ts";
export { costView } from "./session-cost.ts";
