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

/** How the connection is doing; `waiting` has the moment of the next attempt. */
export type ConnectionState = ClientState & { retryAtMs?: number };

/** How the connection is doing. */
export const connectionState = signal<ConnectionState>({ name: "connecting", attempt: 1 });

/** Grows with every connection: what was asked on an earlier one may be out of date. */
export const connectionCount = signal(0);

const eventListeners = new Set<(event: ServerEvent) => void>();
let current: Client | undefined;

/** The page's one client of the server, connected by the first call. It outlives its connections. */
export function client(): Client {
	current ??= connect();
	return current;
}

/** What the server says to everybody: sessions come and go. Returns how to stop listening. */
export function onServerEvent(listener: (event: ServerEvent) => void): () => void {
	eventListeners.add(listener);
	return () => eventListeners.delete(listener);
}

/** Connects anew with another token. */
export function enterToken(token: string): void {
	keepToken(sessionStorage, token);
	// Everything that is shown belongs to the old client.
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
		// What other clients change in a session shows here too.
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

/** Connects with the token, or with that of another tab; with none if no tab has one. */
function transportWith(given: string | undefined): Transport {
	let token = given;
	let hasAsked = false;
	const channel = new BroadcastChannel(TOKEN_CHANNEL);
	// A token that has never let this tab in helps no other.
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
