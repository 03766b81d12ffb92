import type { ComponentType } from "preact";
import type { SessionViewProps } from "./session/open-session.ts";

export interface SessionView {
	/** In the address: `#/sessions/<id>/<name>`. */
	name: string;
	title: string;
	load(): Promise<ComponentType<SessionViewProps>>;
}

/** In the order of the tabs. */
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

export interface Page {
	name: "server" | "replay";
	title: string;
	load(): Promise<ComponentType>;
}

/** In the order of the menu. */
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

/** Loads the code of all views, so that they work while the server is away. A failure is reported when the view is shown. */
export function loadViews(): void {
	for (const { load } of [...sessionViews, ...pages]) load().catch(() => {});
}
