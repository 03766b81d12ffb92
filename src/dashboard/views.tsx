import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { connectionCount } from "./connection/connection.ts";
import { errorMessage } from "./parts/figures.ts";
import { Empty, Problem } from "./parts/notices.tsx";

/** In the order of the tabs; `name` is in the address: `#/sessions/<id>/<name>`. */
export const sessionViews = [
	view(
		"context",
		"Context",
		async () => (await import("./views/context/context-view.tsx")).ContextView,
	),
	view("cost", "Cost", async () => (await import("./views/cost/cost-view.tsx")).CostView),
	view("code", "Code", async () => (await import("./views/code/code-view.tsx")).CodeView),
];

export const pages = [
	view("server", "Server", async () => (await import("./views/server/server-view.tsx")).ServerView),
	view("replay", "Replay", async () => (await import("./views/replay/replay-view.tsx")).ReplayView),
];

function view<Name extends string, Props>(
	name: Name,
	title: string,
	load: () => Promise<ComponentType<Props>>,
) {
	return { name, title, load };
}

/** Preloads the code of all views, so that they work while the server is down. A failure is reported when the view is shown. */
export function loadViews(): void {
	for (const { load } of [...sessionViews, ...pages]) load().catch(() => {});
}

interface LazyProps<Props> {
	load(): Promise<ComponentType<Props>>;
	readonly props: Props;
}

type Loaded<Props> = {
	readonly load: unknown;
	readonly Component?: ComponentType<Props>;
	readonly error?: string;
};

/** A component that is loaded on demand; `load` must be stable. Browsers cache a failed import, so the page reloads when a lost connection is back. */
export function Lazy<Props extends object>({ load, props }: LazyProps<Props>) {
	const [loaded, setLoaded] = useState<Loaded<Props>>();
	useEffect(() => {
		let isCurrent = true;
		load().then(
			(Component) => isCurrent && setLoaded({ load, Component }),
			(error: unknown) => isCurrent && setLoaded({ load, error: errorMessage(error) }),
		);
		return () => {
			isCurrent = false;
		};
	}, [load]);
	if (loaded?.load !== load) return <Empty>Loading…</Empty>;
	if (loaded.error !== undefined) return <NotLoaded why={loaded.error} />;
	const { Component } = loaded;
	return Component ? <Component {...props} /> : null;
}

function NotLoaded({ why }: { why: string }) {
	const seen = useRef(connectionCount.value);
	useEffect(() => {
		// Not for the first connection: the load would fail again, in a loop.
		if (seen.current > 0 && connectionCount.value > seen.current) location.reload();
		seen.current = connectionCount.value;
	}, [connectionCount.value]);
	return (
		<Problem
			text={`This view could not be loaded: ${why}.`}
			onRetry={() => location.reload()}
			retryLabel="Reload the page"
		/>
	);
}
