import { useEffect, useState } from "preact/hooks";
import { Button } from "./controls.tsx";

const COPIED_MS = 1_500;

/** Copies a text as it is, with what the page writes out (control characters) intact. `what` names it. */
export function CopyButton({ text, what }: { text: string | (() => string); what: string }) {
	const [state, setState] = useState<"copied" | "failed">();
	useEffect(() => {
		if (!state) return;
		const timer = setTimeout(() => setState(undefined), COPIED_MS);
		return () => clearTimeout(timer);
	}, [state]);
	const copy = () =>
		navigator.clipboard
			.writeText(typeof text === "string" ? text : text())
			.then(() => setState("copied"))
			.catch(() => setState("failed"));
	return (
		<Button
			class="copy quiet small"
			aria-label={state ? undefined : `Copy ${what}`}
			title={`Copy ${what}`}
			// Without a secure origin, browsers have no clipboard.
			onClick={() => (navigator.clipboard ? void copy() : setState("failed"))}
			label={
				<span role="status">
					{state === "copied" ? "Copied" : state === "failed" ? "Not copied" : "Copy"}
				</span>
			}
		/>
	);
}
