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

/** `retryAtMs`: the time of the next attempt, while the state is `waiting`. */
export const connectionState = signal<ClientState & { retryAtMs?: number }>({
	name: "connecting",
	attempt: 1,
});

/** The number of connections so far. With each, older answers may be out of date. */
export const connectionCount = signal(0);

const tabToken = storedText("strata.token");
let current: Client | undefined;

/** The page's one client, connected by the first call. */
export function client(): Client {
	current ??= connect();
	return current;
}

export function enterToken(token: string): void {
	tabToken.write(token);
	location.reload();
}

function connect(): Client {
	const { token, hash } = takeToken(location.hash, tabToken);
	if (hash !== location.hash) {
		history.replaceState(null, "", location.pathname + location.search + hash);
	}
	const created = createClient({
		transport: transportWith(token),
		lastRetryMs: 5_000,
		// All events, because other clients change sessions too.
		lifecycle: "all",
	});
	created.onState((state) => {
		if (state.name === "open") connectionCount.value++;
		connectionState.value =
			state.name === "waiting" ? { ...state, retryAtMs: Date.now() + state.retryMs } : state;
	});
	return created;
}

function transportWith(given: string | undefined): Transport {
	let token = given;
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

/** Takes the token out of the address (`#token=…`), where it could be seen and copied. The default is the token of this tab. */
export function takeToken(hash: string, store: StoredText) {
	const [, given, rest = ""] = /^#token=([^&/]*)(.*)$/.exec(hash) ?? [];
	if (given === undefined) return { token: store.read() || undefined, hash };
	const token = tryDecode(given) ?? given;
	if (token) store.write(token);
	const path = rest.replace(/^&+/, "");
	return { token: token || store.read() || undefined, hash: path ? `#${path}` : "" };
}

/** Tabs of one origin share the token in memory, so that a link opens in a new tab. */
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

/** Gives other tabs the token; `token` returns undefined until the server has accepted it. */
export function shareToken(channel: BroadcastChannel, token: () => string | undefined): void {
	channel.addEventListener("message", ({ data }: MessageEvent) => {
		const known = data === QUESTION ? token() : undefined;
		if (known !== undefined) channel.postMessage({ token: known });
	});
}

const QUESTION = "token?";
