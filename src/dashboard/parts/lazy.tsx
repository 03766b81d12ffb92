import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { textOf } from "../error-text.ts";
import { Empty, Problem } from "./notices.tsx";

/** A component that is loaded when it is first shown. `load` must be the same function each time. */
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
	if (loaded.error !== undefined)
		return <Problem text={`This view could not be loaded: ${loaded.error}`} />;
	const { Component } = loaded;
	return Component ? <Component {...props} /> : null;
}
