import { startProxy, upstreamsFrom } from "../../src/proxy/index.ts";
import { type Exchange, framesIn } from "../../src/wire/exchange.ts";
import { DUMMY_KEY, type Upstream } from "../support/agents/drivers.ts";
import { sha256 } from "../support/stand-in/stand-in.ts";

/** What stands between an agent and the provider. */
export interface Between {
	readonly name: string;
	/** `url` is the provider's. */
	open(url: string, upstream: Upstream): Promise<Opened>;
}

export interface Opened {
	/** What the agent gets as the provider's address. */
	readonly base: string;
	/** The requests that were observed in between, absent if none are; in the order of their ends. */
	readonly observed?: readonly Observed[];
	close(): Promise<void>;
}

/** Hashes of the bytes that an observer got. */
export interface Observed {
	readonly sha256: string;
	readonly answerSha256: string;
	readonly end: string;
	/** Whether it got the agent's key, too. */
	readonly hasKey: boolean;
}

export const direct: Between = {
	name: "direct",
	open: async (url) => ({ base: url, close: async () => undefined }),
};

export const throughProxy: Between = {
	name: "through the proxy",
	async open(url, upstream) {
		const observed: Observed[] = [];
		const proxy = await startProxy({
			port: 0,
			secret: "a-secret-of-this-run",
			upstreams: upstreamsFrom({ [upstream]: url }),
			onExchange: (exchange) => observed.push(observedOf(exchange)),
		});
		return { base: proxy.baseUrl(upstream), observed, close: () => proxy.close() };
	},
};

function observedOf({ requestBody, answerBody, frames, end, ...rest }: Exchange): Observed {
	const answer = frames ? framesIn(frames).join("") : Buffer.from(answerBody ?? []);
	return {
		sha256: sha256(Buffer.from(requestBody ?? [])),
		answerSha256: sha256(answer),
		end,
		hasKey: JSON.stringify(rest).includes(DUMMY_KEY),
	};
}

/** Every test runs once for each of them. */
export const betweens: readonly Between[] = [direct, throughProxy];
