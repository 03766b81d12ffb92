import { linkTarget } from "./link-target.ts";

/** Where the links of one page lead. */
export class PageLinks {
	#baseUrl: string | undefined;
	/** By how many characters links may still grow: a long base address is not to multiply a short page. */
	#budget: number;

	/** Without a base, links stay as they are. */
	constructor(baseUrl: string | undefined, pageLength: number) {
		this.#baseUrl = baseUrl;
		this.#budget = 4 * pageLength + 65_536;
	}

	/** From here on links are relative to another address, as `<base>` says. */
	rebase(href: string): void {
		const address = URL.parse(href, this.#baseUrl);
		if (address?.protocol.startsWith("http")) this.#baseUrl = address.href;
	}

	/** As it stands in markdown; undefined if there is nothing to lead to. */
	target(address: string): string | undefined {
		const target = linkTarget(address, this.#budget > 0 ? this.#baseUrl : undefined);
		if (target !== undefined) this.#budget -= Math.max(0, target.length - address.length);
		return target;
	}
}
