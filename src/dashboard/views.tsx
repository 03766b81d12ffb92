import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { connectionCount } from "./connection/connection.ts";
import { errorMessage } from "./parts/figures.ts";
import { Empty, Problem } from "./parts/notices.tsx";

/** The views of a session, in the order of its tabs. The address is `#/sessions/<id>/<name>`. */
export const sessionViews = [
	view(
		"context",
		"Context",
		async () => (await import("./views/context/context-view.tsx")).ContextView,
	),
	view("cost", "Cost", async () => (await import("./views/cost/cost-view.tsx")).CostView),
	view(
		"changes",
		"Changes",
		async () => (await import("./views/changes/changes-view.tsx")).ChangesView,
	),
	view("code", "Code", async () => (await import("./views/code/code-view.tsx")).CodeView),
];

/** `about`: what the page shows, for the palette. */
export const pages = [
	{
		...view("usage", "Usage", async () => (await import("./views/usage/usage-view.tsx")).UsageView),
		about: "What agents cost, and what was saved",
	},
	{
		...view(
			"server",
			"Server",
			async () => (await import("./views/server/server-view.tsx")).ServerView,
		),
		about: "Clients, rates, latency, journal, memory",
	},
	{
		...view(
			"traffic",
			"Traffic",
			async () => (await import("./views/traffic/traffic-view.tsx")).TrafficView,
		),
		about: "Conversations through the proxy",
	},
	{
		...view(
			"replay",
			"Replay",
			async () => (await import("./views/replay/replay-view.tsx")).ReplayView,
		),
		about: "A session under other policies",
	},
];

type Load<Props> = () => Promise<ComponentType<Props>>;

function view<Name extends string, Props>(name: Name, title: string, load: Load<Props>) {
	return { name, title, load };
}

/** Preloads all views, so that they open while the server is down. `Lazy` reports failures. */
export function loadViews(): void {
	for (const { load } of [...sessionViews, ...pages]) load().catch(() => {});
}

/** Loads a component on demand. `load` must be the same function on every render. */
export function Lazy<Props extends object>({ load, props }: { load: Load<Props>; props: Props }) {
	const [loaded, setLoaded] = useState<{ load: unknown; draw(own: Props): ComponentChildren }>();
	useEffect(() => {
		let isCurrent = true;
		load().then(
			(View) => isCurrent && setLoaded({ load, draw: (own) => <View {...own} /> }),
			(error) => isCurrent && setLoaded({ load, draw: () => <NotLoaded error={error} /> }),
		);
		return () => {
			isCurrent = false;
		};
	}, [load]);
	return loaded?.load === load ? loaded.draw(props) : <Empty>Loading…</Empty>;
}

/** Browsers cache a failed import, so the page reloads when a lost connection is restored. */
function NotLoaded({ error }: { error: unknown }) {
	const seen = useRef(connectionCount.value);
	useEffect(() => {
		// No reload on the first connection: if the import fails again, the page would reload in a loop.
		if (seen.current > 0 && connectionCount.value > seen.current) location.reload();
		seen.current = connectionCount.value;
	}, [connectionCount.value]);
	return (
		<Problem
			text={`This view could not be loaded: ${errorMessage(error)}.`}
			onRetry={() => location.reload()}
			retryLabel="Reload the page"
		/>
	);
}
