import type { ComponentChildren } from "preact";
import { useErrorBoundary } from "preact/hooks";
import { Button } from "./controls.tsx";
import { textOf } from "./figures.ts";
import { PlainText } from "./text.tsx";

export function Empty({ children }: { children: ComponentChildren }) {
	return <p class="empty">{children}</p>;
}

interface ProblemProps {
	text: string;
	onRetry?: () => void;
	retryWords?: string;
}

export function Problem({ text, onRetry, retryWords = "Try again" }: ProblemProps) {
	return (
		<p class="problem" role="alert">
			<PlainText text={text} />{" "}
			{onRetry && <Button class="small" onClick={onRetry} words={retryWords} />}
		</p>
	);
}

interface AnsweredProps<Data> {
	asked: { data: Data | undefined; error: string | undefined; refresh(): void };
	/** Shown until the first answer. */
	waiting?: string;
	children(data: Data): ComponentChildren;
}

/** The answer to a question, beside the error of a newer one. */
export function Answered<Data>({ asked, waiting, children }: AnsweredProps<Data>) {
	const { data, error, refresh } = asked;
	return (
		<>
			{error !== undefined && <Problem text={error} onRetry={refresh} />}
			{waiting && !data && error === undefined && <Empty>{waiting}</Empty>}
			{data && children(data)}
		</>
	);
}

/** An error boundary: the rest of the page stays. */
export function Guarded({ children }: { children: ComponentChildren }) {
	const [error, retry] = useErrorBoundary();
	if (error === undefined) return <>{children}</>;
	return <Problem text={`This cannot be shown: ${textOf(error)}`} onRetry={retry} />;
}
