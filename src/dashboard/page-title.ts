const MOST = 60;

/** What the browser's tab says: the session first, since tabs are narrow, with a sign while it runs. */
export function pageTitle(session = "", isRunning = false): string {
	if (session === "") return "strata";
	const name = session.length > MOST ? `${session.slice(0, MOST - 1)}…` : session;
	return `${isRunning ? "● " : ""}${name} · strata`;
}
