import { connectionCount, connectionState } from "./connection/connection.ts";
import { ConnectionBadge, ConnectionProblem } from "./connection/connection-badge.tsx";
import { Button } from "./parts/button.tsx";
import { Lazy } from "./parts/lazy.tsx";
import { Guarded } from "./parts/notices.tsx";
import { Toasts } from "./parts/toasts.tsx";
import { hrefOf, type Route, route } from "./route.ts";
import { SessionPage } from "./session/session-page.tsx";
import { SessionsPage } from "./sessions/sessions-page.tsx";
import { nextTheme, theme } from "./theme.ts";
import { pages } from "./views.ts";

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
					<NeverConnected />
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

/** The banner above says what to do. */
function NeverConnected() {
	return (
		<div class="sheet">
			<h1>Not connected</h1>
			<p class="soft">Sessions and figures show here as soon as there is a connection.</p>
		</div>
	);
}

function TopBar() {
	const { page } = route.value;
	const colours = theme.value;
	return (
		<header class="top-bar">
			<a class="brand" href={hrefOf({ page: "sessions" })}>
				<Mark />
				strata
			</a>
			<nav aria-label="Pages" class="pages">
				<a
					href={hrefOf({ page: "sessions" })}
					aria-current={page === "sessions" || page === "session" ? "page" : undefined}
				>
					Sessions
				</a>
				{pages.map(({ name, title }) => (
					<a
						key={name}
						href={hrefOf({ page: name })}
						aria-current={page === name ? "page" : undefined}
					>
						{title}
					</a>
				))}
			</nav>
			<ConnectionBadge />
			<button
				type="button"
				class="quiet theme-switch"
				title={`Colours: ${colours}`}
				aria-label={`Colours: ${colours}. Change`}
				onClick={nextTheme}
			>
				<span aria-hidden="true">{{ system: "◐", light: "☀", dark: "☾" }[colours]}</span>
			</button>
		</header>
	);
}

function Mark() {
	return (
		<svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
			<path class="mark-low" d="M5 22l11 6 11-6" />
			<path class="mark-mid" d="M5 16l11 6 11-6" />
			<path class="mark-top" d="M5 10l11-6 11 6-11 6z" />
		</svg>
	);
}
