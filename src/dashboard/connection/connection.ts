import { signal } from "@preact/signals";
import {
	type Client,
	type ClientState,
	createClient,
	type Transport,
	webSocketTransport,
} from "../../protocol/client.ts";
import type { ServerEvent } from "../../protocol/index.ts";
import { askForToken, keepToken, lendToken, TOKEN_CHANNEL, takeToken } from "./token.ts";

/** `retryAtMs`: when the next attempt is, while it is `waiting`. */
export type ConnectionState = ClientState & { retryAtMs?: number };

export const connectionState = signal<ConnectionState>({ name: "connecting", attempt: 1 });

/** Grows with every connection: older answers may be out of date. */
export const connectionCount = signal(0);

const eventListeners = new Set<(event: ServerEvent) => void>();
let current: Client | undefined;

/** The page's one client, connected by the first call. It outlives its connections. */
export function client(): Client {
	current ??= connect();
	return current;
}

/** Events of the whole server. Returns how to unsubscribe. */
export function onServerEvent(listener: (event: ServerEvent) => void): () => void {
	eventListeners.add(listener);
	return () => eventListeners.delete(listener);
}

/** Reconnects with another token. */
export function enterToken(token: string): void {
	keepToken(sessionStorage, token);
	location.reload();
}

function connect(): Client {
	const { token, hash } = takeToken(location.hash, sessionStorage);
	if (hash !== location.hash) {
		history.replaceState(null, "", location.pathname + location.search + hash);
	}
	const made = createClient({
		transport: transportWith(token),
		lastRetryMs: 5_000,
		// Other clients change sessions, too.
		lifecycle: "all",
	});
	made.onState((state) => {
		if (state.name === "open") connectionCount.value++;
		connectionState.value =
			state.name === "waiting" ? { ...state, retryAtMs: Date.now() + state.retryMs } : state;
	});
	made.onEvent((event) => {
		for (const listener of eventListeners) listener(event);
	});
	return made;
}

/** Connects with the token, or with that of another tab. */
function transportWith(given: string | undefined): Transport {
	let token = given;
	let hasAsked = false;
	const channel = new BroadcastChannel(TOKEN_CHANNEL);
	// Only a token that the server has accepted is shared.
	lendToken(channel, () =>
		connectionCount.value > 0 && connectionState.value.name !== "closed" ? token : undefined,
	);
	return {
		async open(listener) {
			if (token === undefined && !hasAsked) {
				hasAsked = true;
				token = await askForToken(channel);
				if (token !== undefined) keepToken(sessionStorage, token);
			}
			return webSocketTransport(`${location.origin}/`, token).open(listener);
		},
	};
}
