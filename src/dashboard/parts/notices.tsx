import type { ComponentChildren } from "preact";
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
			{onRetry && (
				<button type="button" class="small" onClick={onRetry}>
					{retryWords}
				</button>
			)}
		</p>
	);
}
