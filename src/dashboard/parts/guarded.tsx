import type { ComponentChildren } from "preact";
import { useErrorBoundary } from "preact/hooks";
import { textOf } from "../error-text.ts";
import { Problem } from "./notices.tsx";

/** Shows what is in it. What cannot be drawn says so in its own place, and the rest of the page goes on. */
export function Guarded({ children }: { children: ComponentChildren }) {
	const [error, retry] = useErrorBoundary();
	if (error !== undefined)
		return <Problem text={`This cannot be shown: ${textOf(error)}`} onRetry={retry} />;
	return <>{children}</>;
}
