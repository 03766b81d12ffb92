import { signal } from "@preact/signals";

export type Route =
	| { page: "sessions" }
	| { page: "session"; sessionId: string; view: string }
	| { page: "server" }
	| { page: "replay" };

export const FIRST_VIEW = "conversation";

/** Unknown addresses are the list of sessions. */
export function routeOf(hash: string): Route {
	const [page, sessionId, view] = hash.replace(/^#?\/?/, "").split("/");
	if (page === "server" || page === "replay") return { page };
	const id = page === "sessions" && sessionId ? decoded(sessionId) : undefined;
	return id ? { page: "session", sessionId: id, view: view || FIRST_VIEW } : { page: "sessions" };
}

export function hrefOf(route: Route): string {
	if (route.page !== "session") return route.page === "sessions" ? "#/" : `#/${route.page}`;
	return `#/sessions/${encodeURIComponent(route.sessionId)}/${route.view}`;
}

export const route = signal<Route>({ page: "sessions" });

export function startRouting(): void {
	const follow = () => {
		route.value = routeOf(location.hash);
	};
	addEventListener("hashchange", follow);
	follow();
}

export function go(to: Route): void {
	location.hash = hrefOf(to);
}

/** Undefined if an escape is broken. */
export function decoded(text: string): string | undefined {
	try {
		return decodeURIComponent(text);
	} catch {
		return undefined;
	}
}

const MOST = 60;

/** The session first, since tabs are narrow, with a sign while it runs. */
export function pageTitle(session = "", isRunning = false): string {
	if (session === "") return "strata";
	const name = session.length > MOST ? `${session.slice(0, MOST - 1)}…` : session;
	return `${isRunning ? "● " : ""}${name} · strata`;
}
