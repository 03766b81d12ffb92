import type { ComponentChildren } from "preact";
import { PlainText } from "./text.tsx";

/** What is shown where there is nothing to show. */
export function Empty({ children }: { children: ComponentChildren }) {
	return <p class="empty">{children}</p>;
}

/** What went wrong, and what can be done. */
export function Problem({ text, onRetry }: { text: string; onRetry?: () => void }) {
	return (
		<p class="problem" role="alert">
			<PlainText text={text} />{" "}
			{onRetry && (
				<button type="button" class="small" onClick={onRetry}>
					Try again
				</button>
			)}
		</p>
	);
}
