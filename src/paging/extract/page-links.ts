export class PageLinks {
	#baseUrl: string | undefined;
	/** Characters links may still grow by: a long base address must not multiply a short page. */
	#budget: number;

	/** Without a base, links stay as they are. */
	constructor(baseUrl: string | undefined, pageLength: number) {
		this.#baseUrl = baseUrl;
		this.#budget = 4 * pageLength + 65_536;
	}

	rebase(href: string): void {
		const address = URL.parse(href, this.#baseUrl);
		if (address?.protocol.startsWith("http")) this.#baseUrl = address.href;
	}

	/** `undefined` for an address without a usable target. */
	target(address: string): string | undefined {
		const target = linkTarget(address, this.#budget > 0 ? this.#baseUrl : undefined);
		if (target !== undefined) this.#budget -= Math.max(0, target.length - address.length);
		return target;
	}
}

/** Longer addresses carry data. */
const MAX_LENGTH = 2000;

// `undefined` for scripts, embedded data and places on the page.
function linkTarget(address: string, baseUrl: string | undefined): string | undefined {
	const written = address.trim();
	if (written === "" || written.startsWith("#") || written.length > MAX_LENGTH) return undefined;
	const scheme = SCHEME.exec(written)?.[1]?.toLowerCase();
	if (scheme !== undefined && !LEADS_SOMEWHERE.has(scheme)) return undefined;
	if (scheme !== undefined || baseUrl === undefined) return bracketed(written);
	const resolved = URL.parse(written, baseUrl)?.href;
	if (resolved === undefined || resolved.length > MAX_LENGTH) return bracketed(written);
	return isSamePage(resolved, baseUrl) ? undefined : bracketed(resolved);
}

const LEADS_SOMEWHERE = new Set(["http", "https", "mailto", "tel", "ftp", "file"]);
// Browsers drop tabs and line ends from addresses: "java\nscript:" is a script too.
const SCHEME = /^([a-z][a-z0-9+.\-\t\n\r]*):/i;

function isSamePage(resolved: string, baseUrl: string): boolean {
	const hash = resolved.indexOf("#");
	return hash !== -1 && resolved.slice(0, hash) === baseUrl.split("#", 1)[0];
}

function bracketed(address: string): string {
	return address.replace(UNFIT, (character) => UNFIT_AS[character] ?? "");
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they have no place in an address
const UNFIT = /[\s()<>\\|\u0000-\u001f\u007f]/g;
const UNFIT_AS: Record<string, string> = {
	" ": "%20",
	"(": "%28",
	")": "%29",
	"<": "%3C",
	">": "%3E",
	"\\": "%5C",
	"|": "%7C",
};
