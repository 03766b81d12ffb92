import "./styles/base.css";
import "./styles/frame.css";
import "./styles/parts.css";
import "./styles/sessions.css";
import "./styles/conversation.css";
import "./styles/composer.css";
import { effect } from "@preact/signals";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { tokenFault } from "../protocol/client.ts";
import { client, connectionCount, connectionState, enterToken } from "./connection/connection.ts";
import { Overlays, shownOverlay, startKeys } from "./palette.tsx";
import { Button, IconButton, submitHandler } from "./parts/controls.tsx";
import { preventFileNavigation } from "./parts/dragged-files.ts";
import { keepFocus } from "./parts/kept-focus.ts";
import { ErrorBoundary, Toasts } from "./parts/notices.tsx";
import { PlainText } from "./parts/text.tsx";
import { hrefOf, type Route, route, startRouting } from "./route.ts";
import { restoreOutboxes } from "./session/composer-state.ts";
import { SessionPage } from "./session/session-page.tsx";
import { SessionsPage } from "./sessions/sessions-page.tsx";
import { StoredPage } from "./sessions/stored-page.tsx";
import { applyTheme, nextTheme, theme } from "./theme.ts";
import { Lazy, loadViews, pages } from "./views.tsx";

// Connect before routing, because connecting removes the token from the address.
client();
applyTheme();
startRouting();
preventFileNavigation();
startKeys();
keepFocus();
restoreOutboxes();
const root = document.getElementById("app");
if (root) render(<App />, root);
// Preload the other views only when the first view has its code and its connection.
effect(() => {
	if (connectionCount.value > 0) loadViews();
});

function App() {
	return (
		<>
			<Button
				class="skip"
				onClick={() => document.getElementById("main")?.focus()}
				label="Skip to content"
			/>
			<TopBar />
			<ConnectionProblem />
			<main id="main" tabIndex={-1}>
				{connectionState.value.name !== "closed" || connectionCount.value > 0 ? (
					<ErrorBoundary key={route.value.page}>
						<Content shown={route.value} />
					</ErrorBoundary>
				) : (
					<div class="sheet">
						<h1>Not connected</h1>
						<p class="soft">Your sessions appear here once you are connected.</p>
					</div>
				)}
			</main>
			<Overlays />
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
	if (shown.page === "stored") return <StoredPage key={shown.path} path={shown.path} />;
	const page = pages.find(({ name }) => name === shown.page);
	return page ? <Lazy load={page.load} props={{}} /> : <SessionsPage />;
}

function TopBar() {
	const { page } = route.value;
	const shown = page === "session" || page === "stored" ? "sessions" : page;
	const current = theme.value;
	return (
		<header class="top-bar line">
			<a class="brand line" href={hrefOf({ page: "sessions" })}>
				<svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
					<path opacity="0.55" d="M5 22l11 6 11-6" />
					<path d="M5 16l11 6 11-6" />
					<path fill="var(--accent)" d="M5 10l11-6 11 6-11 6z" />
				</svg>
				<span class="brand-text">strata</span>
			</a>
			<nav aria-label="Pages" class="pages line">
				{[{ name: "sessions", title: "Sessions" } as const, ...pages].map(({ name, title }) => (
					<a
						key={name}
						href={hrefOf({ page: name })}
						data-text={title}
						aria-current={shown === name ? "page" : undefined}
					>
						{title}
					</a>
				))}
			</nav>
			<ConnectionBadge />
			<Button
				class="quiet small go-to"
				title="Go to a session, a view or a command (Ctrl+K, ⌘K)"
				aria-keyshortcuts="Control+K Meta+K"
				onClick={() => {
					shownOverlay.value = "palette";
				}}
				label="Go to"
			/>
			<IconButton
				class="quiet go-to"
				icon="?"
				label="Keys"
				title="Keys (?)"
				onClick={() => {
					shownOverlay.value = "keys";
				}}
			/>
			<IconButton
				class="quiet"
				icon={{ system: "◐", light: "☀", dark: "☾" }[current]}
				label={`Change theme (now: ${current})`}
				title={`Theme: ${current}`}
				onClick={nextTheme}
			/>
		</header>
	);
}

function ConnectionBadge() {
	const state = connectionState.value;
	const seconds = useSecondsUntil(state.retryAtMs);
	const text = {
		open: "Connected",
		connecting: "Connecting…",
		waiting: seconds > 0 ? `Reconnecting in ${seconds} s` : "Reconnecting…",
		closed: "Not connected",
	}[state.name];
	return (
		<span class={`connection line small soft is-${state.name}`} role="status">
			<span class="dot" aria-hidden="true" />
			<span class="connection-text">{text}</span>
		</span>
	);
}

function ConnectionProblem() {
	const state = connectionState.value;
	const [fault, setFault] = useState<string>();
	if (state.name === "waiting" && state.attempt >= 2) {
		return (
			<div class="banner row is-warning" role="status">
				<p>
					The server is not responding (<PlainText text={state.why} />
					). This page will reconnect and continue where it left off.
				</p>
			</div>
		);
	}
	if (state.name !== "closed") return null;
	return (
		<div class="banner row is-error" role="alert">
			<p>
				Not connected: <PlainText text={state.why} />. Open the address that{" "}
				<code>strata serve</code> printed when it started; it ends with the token. Or enter a token
				from the server's token file.
			</p>
			<form
				class="row"
				onSubmit={submitHandler((data) => {
					const token = String(data.get("token")).trim();
					const found = tokenFault(token);
					setFault(found);
					if (found === undefined) enterToken(token);
				})}
			>
				<label>
					Token <input name="token" type="password" autocomplete="off" required />
				</label>
				<Button type="submit" class="primary" label="Connect" />
			</form>
			{fault !== undefined && <p>Invalid token: {fault}.</p>}
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
