import { signal } from "@preact/signals";
import {
	type Client,
	type ClientState,
	createClient,
	type Transport,
	webSocketTransport,
} from "../../protocol/client.ts";
import { type StoredText, storedText } from "../parts/storage.ts";
import { tryDecode } from "../route.ts";

/** `retryAtMs`: when the next attempt starts (ms since 1970). Set only while the state is `waiting`. */
export const connectionState = signal<ClientState & { retryAtMs?: number }>({
	name: "connecting",
	attempt: 1,
});

/** The number of connections opened so far. After a new one, earlier answers may be out of date. */
export const connectionCount = signal(0);

const tabToken = storedText("strata.token");
let current: Client | undefined;
let token: string | undefined;

/** The page's only client. The first call connects it. */
export function client(): Client {
	current ??= connect();
	return current;
}

export function enterToken(given: string): void {
	tabToken.write(given);
	location.reload();
}

/** The headers of an HTTP request to the server. */
export function authorization(): Record<string, string> {
	return token === undefined ? {} : { Authorization: `Bearer ${token}` };
}

function connect(): Client {
	const { token: given, hash } = takeToken(location.hash, tabToken);
	token = given;
	if (hash !== location.hash) {
		history.replaceState(null, "", location.pathname + location.search + hash);
	}
	const created = createClient({
		transport: transport(),
		lastRetryMs: 5_000,
		// Events of all commands, because other clients change sessions too.
		lifecycle: "all",
	});
	created.onState((state) => {
		if (state.name === "open") connectionCount.value++;
		connectionState.value =
			state.name === "waiting" ? { ...state, retryAtMs: Date.now() + state.retryMs } : state;
	});
	return created;
}

function transport(): Transport {
	let hasAsked = false;
	const channel = new BroadcastChannel(TOKEN_CHANNEL);
	// Only a token that the server has accepted is shared.
	shareToken(channel, () =>
		connectionCount.value > 0 && connectionState.value.name !== "closed" ? token : undefined,
	);
	return {
		async open(listener) {
			if (token === undefined && !hasAsked) {
				hasAsked = true;
				token = await askForToken(channel);
				if (token !== undefined) tabToken.write(token);
			}
			return webSocketTransport(`${location.origin}/`, token).open(listener);
		},
	};
}

/** Removes the token (`#token=…`) from the address, where it could be copied. Default: the stored token. */
export function takeToken(hash: string, store: StoredText) {
	const [, given, rest = ""] = /^#token=([^&/]*)(.*)$/.exec(hash) ?? [];
	if (given === undefined) return { token: store.read() || undefined, hash };
	const token = tryDecode(given) ?? given;
	if (token) store.write(token);
	const path = rest.replace(/^&+/, "");
	return { token: token || store.read() || undefined, hash: path ? `#${path}` : "" };
}

/** Over this channel, tabs of one origin share the token, so that a link opened in a new tab can connect. */
const TOKEN_CHANNEL = "strata.token";

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

/** Sends the token to tabs that ask for it. `token` returns undefined until the server has accepted it. */
export function shareToken(channel: BroadcastChannel, token: () => string | undefined): void {
	channel.addEventListener("message", ({ data }: MessageEvent) => {
		const known = data === QUESTION ? token() : undefined;
		if (known !== undefined) channel.postMessage({ token: known });
	});
}

const QUESTION = "token?";
