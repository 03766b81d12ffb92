/** A provider that requests are forwarded to. */
export interface Upstream {
	readonly name: string;
	readonly origin: string;
	/** Path below which the provider's own paths begin; without a slash at its end. */
	readonly prefix: string;
	/** Whether the user's settings name the address. */
	readonly isConfigured: boolean;
}

export type Upstreams = ReadonlyMap<string, Upstream>;

const BUILT_IN = {
	anthropic: "https://api.anthropic.com",
	openai: "https://api.openai.com",
	chatgpt: "https://chatgpt.com/backend-api/codex",
	gemini: "https://generativelanguage.googleapis.com",
};

/** The built-in upstreams, and those of the setting `proxy.upstreams`, which come first. */
export function upstreamsFrom(configured: Readonly<Record<string, string>> = {}): Upstreams {
	const table = new Map<string, Upstream>();
	for (const [name, address] of Object.entries({ ...BUILT_IN, ...configured })) {
		if (!URL.canParse(address)) {
			throw new Error(`proxy.upstreams.${name} must be a web address, such as https://example.org`);
		}
		const { origin, pathname } = new URL(address);
		const isConfigured = Object.hasOwn(configured, name);
		table.set(name, { name, origin, prefix: pathname.replace(/\/+$/, ""), isConfigured });
	}
	return table;
}
