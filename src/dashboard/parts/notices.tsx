import type { ComponentChildren } from "preact";
import { useErrorBoundary } from "preact/hooks";
import { textOf } from "../error-text.ts";
import { Button } from "./button.tsx";
import { PlainText } from "./text.tsx";

/** What is shown where there is nothing to show. */
export function Empty({ children }: { children: ComponentChildren }) {
	return <p class="empty">{children}</p>;
}

interface ProblemProps {
	text: string;
	onRetry?: () => void;
	/** What the button says that calls `onRetry`. */
	retryWords?: string;
}

/** What went wrong, and what can be done. */
export function Problem({ text, onRetry, retryWords = "Try again" }: ProblemProps) {
	return (
		<p class="problem" role="alert">
			<PlainText text={text} />{" "}
			{onRetry && <Button class="small" onClick={onRetry} words={retryWords} />}
		</p>
	);
}

/** Shows what is in it. What cannot be drawn says so in its own place, and the rest of the page goes on. */
export function Guarded({ children }: { children: ComponentChildren }) {
	const [error, retry] = useErrorBoundary();
	if (error !== undefined)
		return <Problem text={`This cannot be shown: ${textOf(error)}`} onRetry={retry} />;
	return <>{children}</>;
}
