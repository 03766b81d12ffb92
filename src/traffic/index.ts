/** Conversations of agents as a proxy sees them: what each request cost, why, and what fills it. */

export { Book, type ConversationSums, TRAFFIC_STORE, trafficFolder } from "./book.ts";
export { BookWatch } from "./book-watch.ts";
export { clearingShadow } from "./clearing-shadow.ts";
export { mainConversations } from "./main-conversations.ts";
export { TrafficObserver } from "./observer.ts";
export {
	type ConversationReport,
	conversationReport,
	conversationText,
	summaryLine,
	trafficText,
} from "./report.ts";
export { windowParts } from "./window.ts";
