/** Where the token is kept while the tab is open. */
interface TokenStore {
	getItem(key: string): string | null;
	setItem(key: string, value: string): void;
	removeItem(key: string): void;
}

const KEY = "strata.token";

/**
 * The token of the address (`#token=…`) or else the one this tab has kept, and the address without it: it must not stay
 * where it is seen, copied and remembered.
 */
export function takeToken(
	hash: string,
	store: TokenStore,
): { token: string | undefined; hash: string } {
	const [, given, rest = ""] = /^#token=([^&/]*)(.*)$/.exec(hash) ?? [];
	if (given === undefined) return { token: keptToken(store), hash };
	const token = decoded(given);
	if (token) keepToken(store, token);
	const path = rest.replace(/^&+/, "");
	return { token: token || keptToken(store), hash: path ? `#${path}` : "" };
}

/** Keeps a token for as long as the tab is open. */
export function keepToken(store: TokenStore, token: string): void {
	try {
		store.setItem(KEY, token);
	} catch {
		// Without storage the token lasts until the page is loaded again.
	}
}

function keptToken(store: TokenStore): string | undefined {
	try {
		return store.getItem(KEY) ?? undefined;
	} catch {
		return undefined; // storage may be forbidden
	}
}

function decoded(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

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
