/** Where the token is kept while the tab is open. */
export interface TokenStore {
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
