import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { connectionCount } from "./connection/connection.ts";
import { textOf } from "./parts/figures.ts";
import { Empty, Problem } from "./parts/notices.tsx";
import type { SessionViewProps } from "./session/open-session.ts";

interface SessionView {
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

interface Page {
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

/** A component that is loaded on demand; `load` must be stable. Browsers cache a failed import, so the page reloads when a lost connection is back. */
export function Lazy<Props extends object>({
	load,
	props,
}: {
	load(): Promise<ComponentType<Props>>;
	props: Props;
}) {
	const [loaded, setLoaded] = useState<{
		of: unknown;
		Component?: ComponentType<Props>;
		error?: string;
	}>();
	useEffect(() => {
		let isCurrent = true;
		load().then(
			(Component) => isCurrent && setLoaded({ of: load, Component }),
			(error: unknown) => isCurrent && setLoaded({ of: load, error: textOf(error) }),
		);
		return () => {
			isCurrent = false;
		};
	}, [load]);
	if (loaded?.of !== load) return <Empty>Loading…</Empty>;
	if (loaded.error !== undefined) return <NotLoaded why={loaded.error} />;
	const { Component } = loaded;
	return Component ? <Component {...props} /> : null;
}

function NotLoaded({ why }: { why: string }) {
	const seen = useRef(connectionCount.value);
	useEffect(() => {
		// Not for the first connection: what failed before it would fail again, without end.
		if (seen.current > 0 && connectionCount.value > seen.current) location.reload();
		seen.current = connectionCount.value;
	}, [connectionCount.value]);
	return (
		<Problem
			text={`This view could not be loaded: ${why}.`}
			onRetry={() => location.reload()}
			retryWords="Load the page again"
		/>
	);
}
