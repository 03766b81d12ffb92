/**
 * Tabs of one browser on one server let each other in: who opens a link in a new tab must not look for the token again. It
 * stays in the memory of tabs, and only pages of the server's own origin hear each other.
 */
export const TOKEN_CHANNEL = "strata.token";

/** Asks the other tabs for their token. Resolves to undefined when none has said it in time. */
export function askForToken(channel: BroadcastChannel, waitMs = 300): Promise<string | undefined> {
	return new Promise((resolve) => {
		const timer = setTimeout(() => resolve(undefined), waitMs);
		channel.addEventListener("message", ({ data }: MessageEvent) => {
			const token: unknown = data?.token;
			if (typeof token !== "string" || token === "") return;
			clearTimeout(timer);
			resolve(token);
		});
		channel.postMessage(QUESTION);
	});
}

/** Tells other tabs the token when they ask; `token` says it, or undefined while it is not known to be right. */
export function lendToken(channel: BroadcastChannel, token: () => string | undefined): void {
	channel.addEventListener("message", ({ data }: MessageEvent) => {
		const known = data === QUESTION ? token() : undefined;
		if (known !== undefined) channel.postMessage({ token: known });
	});
}

const QUESTION = "token?";
