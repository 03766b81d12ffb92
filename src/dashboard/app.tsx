import { useEffect, useState } from "preact/hooks";
import { tokenFault } from "../protocol/client.ts";
import { connectionCount, connectionState, enterToken } from "./connection/connection.ts";
import { Button, SignButton } from "./parts/controls.tsx";
import { Guarded } from "./parts/notices.tsx";
import { PlainText } from "./parts/text.tsx";
import { Toasts } from "./parts/toasts.tsx";
import { hrefOf, type Route, route } from "./route.ts";
import { SessionPage } from "./session/session-page.tsx";
import { SessionsPage } from "./sessions/sessions-page.tsx";
import { nextTheme, theme } from "./theme.ts";
import { Lazy, pages } from "./views.tsx";

export function App() {
	return (
		<>
			<Button
				class="skip"
				onClick={() => document.getElementById("main")?.focus()}
				words="Skip to content"
			/>
			<TopBar />
			<ConnectionProblem />
			<main id="main" tabIndex={-1}>
				{connectionState.value.name !== "closed" || connectionCount.value > 0 ? (
					<Guarded key={route.value.page}>
						<Content shown={route.value} />
					</Guarded>
				) : (
					// The banner above says what to do.
					<div class="sheet">
						<h1>Not connected</h1>
						<p class="soft">Sessions and figures show here as soon as there is a connection.</p>
					</div>
				)}
			</main>
			<Toasts />
		</>
	);
}

function Content({ shown }: { shown: Route }) {
	if (shown.page === "sessions") return <SessionsPage />;
	if (shown.page === "session") {
		const { sessionId, view } = shown;
		return <SessionPage key={sessionId} sessionId={sessionId} view={view} />;
	}
	const page = pages.find(({ name }) => name === shown.page);
	return page ? <Lazy load={page.load} props={{}} /> : <SessionsPage />;
}

function TopBar() {
	const { page } = route.value;
	const shown = page === "session" ? "sessions" : page;
	const colours = theme.value;
	return (
		<header class="top-bar">
			<a class="brand" href={hrefOf({ page: "sessions" })}>
				<svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
					<path opacity="0.55" d="M5 22l11 6 11-6" />
					<path d="M5 16l11 6 11-6" />
					<path fill="var(--accent)" d="M5 10l11-6 11 6-11 6z" />
				</svg>
				strata
			</a>
			<nav aria-label="Pages" class="pages">
				{[{ name: "sessions", title: "Sessions" } as const, ...pages].map(({ name, title }) => (
					<a
						key={name}
						href={hrefOf({ page: name })}
						aria-current={shown === name ? "page" : undefined}
					>
						{title}
					</a>
				))}
			</nav>
			<ConnectionBadge />
			<SignButton
				class="quiet theme-switch"
				sign={{ system: "◐", light: "☀", dark: "☾" }[colours]}
				label={`Colours: ${colours}. Change`}
				title={`Colours: ${colours}`}
				onClick={nextTheme}
			/>
		</header>
	);
}

function ConnectionBadge() {
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
function ConnectionProblem() {
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
