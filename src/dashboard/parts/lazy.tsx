import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { connectionCount } from "../connection/connection.ts";
import { textOf } from "../error-text.ts";
import { Empty, Problem } from "./notices.tsx";

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
