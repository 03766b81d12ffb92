import { signal } from "@preact/signals";

export type Route =
	| { page: "sessions" }
	| { page: "session"; sessionId: string; view: string }
	| { page: "server" }
	| { page: "replay" };

export const DEFAULT_VIEW = "conversation";

/** Unknown addresses lead to the list of sessions. */
export function routeOf(hash: string): Route {
	const [page, sessionId, view] = hash.replace(/^#?\/?/, "").split("/");
	if (page === "server" || page === "replay") return { page };
	const id = page === "sessions" && sessionId ? tryDecode(sessionId) : undefined;
	return id ? { page: "session", sessionId: id, view: view || DEFAULT_VIEW } : { page: "sessions" };
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

export function navigate(to: Route): void {
	location.hash = hrefOf(to);
}

/** Undefined if an escape is broken. */
export function tryDecode(text: string): string | undefined {
	try {
		return decodeURIComponent(text);
	} catch {
		return undefined;
	}
}

const MAX_NAME = 60;

/** The session's name comes first, since tabs are narrow, with a dot while the session runs. */
export function pageTitle(session = "", isRunning = false): string {
	if (session === "") return "strata";
	const name = session.length > MAX_NAME ? `${session.slice(0, MAX_NAME - 1)}…` : session;
	return `${isRunning ? "● " : ""}${name} · strata`;
}
