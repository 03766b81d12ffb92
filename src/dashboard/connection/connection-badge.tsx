import { useEffect, useState } from "preact/hooks";
import { tokenFault } from "../../protocol/client.ts";
import { Button } from "../parts/button.tsx";
import { PlainText } from "../parts/text.tsx";
import { connectionState, enterToken } from "./connection.ts";

export function ConnectionBadge() {
	const state = connectionState.value;
	const seconds = useSecondsUntil(state.retryAtMs);
	const words = {
		open: "Connected",
		connecting: "Connecting…",
		waiting: seconds > 0 ? `Reconnecting in ${seconds} s` : "Reconnecting…",
		closed: "Not connected",
	}[state.name];
	return (
		<span class={`connection is-${state.name}`} role="status">
			<span class="dot" aria-hidden="true" />
			<span class="connection-words">{words}</span>
		</span>
	);
}

/** What to do when the server does not answer, or rejects the token. */
export function ConnectionProblem() {
	const state = connectionState.value;
	const [fault, setFault] = useState<string>();
	if (state.name === "waiting" && state.attempt >= 2) {
		return (
			<div class="banner is-warning" role="status">
				<p>
					The server does not answer (<PlainText text={state.why} />
					). The page connects again by itself and goes on where it was.
				</p>
			</div>
		);
	}
	if (state.name !== "closed") return null;
	return (
		<div class="banner is-error" role="alert">
			<p>
				No connection: <PlainText text={state.why} />. Open the address that{" "}
				<code>strata serve</code> printed when it started: the token is at its end. Or enter a token
				of the server's token file.
			</p>
			<form
				class="row"
				onSubmit={(event) => {
					event.preventDefault();
					const token = String(new FormData(event.currentTarget).get("token") ?? "").trim();
					const found = tokenFault(token);
					setFault(found);
					if (found === undefined) enterToken(token);
				}}
			>
				<label>
					Token <input name="token" type="password" autocomplete="off" required />
				</label>
				<Button type="submit" class="primary" words="Connect" />
			</form>
			{fault !== undefined && <p>Not entered: {fault}.</p>}
		</div>
	);
}

function useSecondsUntil(atMs: number | undefined): number {
	const [now, setNow] = useState(Date.now);
	useEffect(() => {
		if (atMs === undefined) return;
		setNow(Date.now());
		const timer = setInterval(() => setNow(Date.now()), 500);
		return () => clearInterval(timer);
	}, [atMs]);
	return atMs === undefined ? 0 : Math.max(0, Math.ceil((atMs - now) / 1000));
}
