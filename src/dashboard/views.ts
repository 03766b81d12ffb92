import type { ComponentType } from "preact";
import type { SessionViewProps } from "./session/open-session.ts";

/** A view of a session: a tab beside the conversation. */
export interface SessionView {
	/** In the address: `#/sessions/<id>/<name>`. */
	name: string;
	title: string;
	/** Gets its code from the server. */
	load(): Promise<ComponentType<SessionViewProps>>;
}

/** The views of a session beside its conversation, in the order of their tabs. */
export const sessionViews: readonly SessionView[] = [
	{
		name: "context",
		title: "Context",
		load: async () => (await import("./views/context/context-view.tsx")).ContextView,
	},
	{
		name: "cost",
		title: "Cost",
		load: async () => (await import("./views/cost/cost-view.tsx")).CostView,
	},
	{
		name: "code",
		title: "Code",
		load: async () => (await import("./views/code/code-view.tsx")).CodeView,
	},
];

/** A page beside the sessions: `#/server`, `#/replay`. */
export interface Page {
	name: "server" | "replay";
	title: string;
	load(): Promise<ComponentType>;
}

/** The pages beside the sessions, in the order of the menu. */
export const pages: readonly Page[] = [
	{
		name: "server",
		title: "Server",
		load: async () => (await import("./views/server/server-view.tsx")).ServerView,
	},
	{
		name: "replay",
		title: "Replay",
		load: async () => (await import("./views/replay/replay-view.tsx")).ReplayView,
	},
];

/**
 * Gets the code of all views, so that they can be shown while the server is away. What fails now is told when it is shown:
 * browsers do not try again before the page is loaded anew.
 */
export function loadViews(): void {
	for (const { load } of [...sessionViews, ...pages]) load().catch(() => {});
}
