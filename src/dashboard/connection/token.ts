interface TokenStore {
	getItem(key: string): string | null;
	setItem(key: string, value: string): void;
	removeItem(key: string): void;
}

const KEY = "strata.token";

/** Takes the token out of the address (`#token=…`), where it would be seen and copied; without one it is the token of this tab. */
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

export function keepToken(store: TokenStore, token: string): void {
	try {
		store.setItem(KEY, token);
	} catch {
		// Without storage the token lasts until a reload.
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

/** Tabs of one origin share the token in memory, so that a link opens in a new tab. */
export const TOKEN_CHANNEL = "strata.token";

/** Asks the other tabs for their token; undefined if none answers in time. */
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

/** Answers other tabs; `token` returns undefined until the server has accepted it. */
export function lendToken(channel: BroadcastChannel, token: () => string | undefined): void {
	channel.addEventListener("message", ({ data }: MessageEvent) => {
		const known = data === QUESTION ? token() : undefined;
		if (known !== undefined) channel.postMessage({ token: known });
	});
}

const QUESTION = "token?";
