import { setImmediate } from "node:timers/promises";
import type { Agent, buildConnector, Dispatcher } from "undici";

/** What fetching needs of undici. */
export interface Undici {
	buildConnector: typeof buildConnector;
	/** An agent, or one that goes through the proxies of the environment. */
	createAgent(options: Agent.Options): Dispatcher;
}

/**
 * Loads the parts of undici that a request needs, with a pause after each. Its door loads all that it has
 * (WebSocket, caches, a second fetch) in one go, which keeps the main thread from everything else for over 100 ms.
 */
export async function loadUndici(useProxy: boolean): Promise<Undici> {
	await import("undici/lib/core/util.js");
	await setImmediate();
	const { default: buildConnector } = await import("undici/lib/core/connect.js");
	await import("undici/lib/dispatcher/client.js");
	await setImmediate();
	const { default: request } = await import("undici/lib/api/api-request.js");
	await setImmediate();
	const { default: Agent } = useProxy
		? await import("undici/lib/dispatcher/env-http-proxy-agent.js")
		: await import("undici/lib/dispatcher/agent.js");
	return {
		buildConnector,
		// It is undici's door that gives agents this method.
		createAgent: (options) => Object.assign(new Agent(options), { request }),
	};
}
