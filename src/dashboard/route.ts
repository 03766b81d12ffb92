import { signal } from "@preact/signals";

export type Route =
	| { page: "sessions" }
	/** `entryId`: the entry to scroll to. */
	| { page: "session"; sessionId: string; view: string; entryId?: string }
	/** A session file that is only read. */
	| { page: "stored"; path: string }
	| { page: "usage" }
	| { page: "server" }
	/** `sessionId`: the session to replay at once. */
	| { page: "replay"; sessionId?: string }
	/** `conversation` is its number; absent: the list. */
	| { page: "traffic"; conversation?: number };

export const DEFAULT_VIEW = "conversation";

/** Parses a hash such as `#/sessions/<id>/<view>`. An unknown hash gives the Sessions page. */
export function routeOf(hash: string): Route {
	const [page, sessionId, view, entry] = hash.replace(/^#?\/?/, "").split("/");
	if (page === "server" || page === "usage") return { page };
	if (page === "stored") {
		const path = sessionId ? tryDecode(sessionId) : undefined;
		return path ? { page, path } : { page: "sessions" };
	}
	if (page === "replay") {
		const own = sessionId ? tryDecode(sessionId) : undefined;
		return { page, ...(own && { sessionId: own }) };
	}
	if (page === "traffic") {
		const isNumber = /^[1-9]\d{0,14}$/.test(sessionId ?? "");
		return { page, ...(isNumber && { conversation: Number(sessionId) }) };
	}
	const id = page === "sessions" && sessionId ? tryDecode(sessionId) : undefined;
	if (!id) return { page: "sessions" };
	const entryId = entry ? tryDecode(entry) : undefined;
	return {
		page: "session",
		sessionId: id,
		view: view || DEFAULT_VIEW,
		...(entryId && { entryId }),
	};
}

export function hrefOf(route: Route): string {
	if (route.page === "traffic" && route.conversation !== undefined)
		return `#/traffic/${route.conversation}`;
	if (route.page === "stored") return `#/stored/${encodeURIComponent(route.path)}`;
	if (route.page === "replay" && route.sessionId !== undefined)
		return `#/replay/${encodeURIComponent(route.sessionId)}`;
	if (route.page !== "session") return route.page === "sessions" ? "#/" : `#/${route.page}`;
	const entry = route.entryId === undefined ? "" : `/${encodeURIComponent(route.entryId)}`;
	return `#/sessions/${encodeURIComponent(route.sessionId)}/${route.view}${entry}`;
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

/** Returns undefined if the text contains an invalid percent escape. */
export function tryDecode(text: string): string | undefined {
	try {
		return decodeURIComponent(text);
	} catch {
		return undefined;
	}
}

const MAX_NAME = 60;

/** The browser tab's title. The name comes first, because tabs are narrow; a dot marks a running session. */
export function pageTitle(session = "", isRunning = false): string {
	if (session === "") return "strata";
	const name = session.length > MAX_NAME ? `${session.slice(0, MAX_NAME - 1)}…` : session;
	return `${isRunning ? "● " : ""}${name} · strata`;
}
