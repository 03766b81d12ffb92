import { basename } from "node:path";
import { settingGroups } from "../core/settings.ts";
import { digest } from "./cursor.ts";
import { PagingError, tooLarge } from "./errors.ts";
import { createExtractor } from "./extract/extractor.ts";
import { parseAllowRanges } from "./fetch/address.ts";
import { decodeInSlices } from "./fetch/charset.ts";
import { kindOf } from "./fetch/content-kind.ts";
import type { Validators } from "./fetch/exchange.ts";
import { parseMediaType } from "./fetch/media-type.ts";
import { createSafeFetch } from "./fetch/safe-fetch.ts";
import { shownUrl } from "./fetch/web-url.ts";
import { createPdfEngine } from "./pdf/pdf-engine.ts";
import { createPdfPages } from "./pdf-chunk.ts";
import { type Resource, sizeOf, textResource } from "./resource.ts";
import { createResourceCache, type Loader } from "./resource-cache.ts";
import { locateFile, readLocated } from "./sources/file.ts";
import { normaliseUri } from "./uri.ts";

/** Defaults are those of the settings. */
export interface LibraryOptions {
	/** Relative paths start here, and files must lie in it. */
	root: string;
	readOnlyRoots?: readonly string[];
	/** Non-public networks (CIDR) that may be reached. */
	allowRanges?: readonly string[];
	/** Use the environment's proxies; the address behind a name is then not checked. */
	useProxy?: boolean;
	/** How long a resource stays fresh; continuing to read prolongs it. */
	ttlMs?: number;
	maxEntries?: number;
	maxCacheBytes?: number;
	/** For a whole request, redirects included. */
	timeoutMs?: number;
	/** Largest page or text, unpacked. */
	maxBytes?: number;
	maxPdfBytes?: number;
	/** Time to convert a page before falling back to the simpler conversion. */
	extractMs?: number;
	now?: () => number;
}

interface Target {
	/** The same for all spellings of an address. */
	key: string;
	load: Loader<Resource>;
	/** True for files: checking them is cheap. */
	revalidate: boolean;
	version?: string;
}

export function createLibrary(options: LibraryOptions) {
	const { root, readOnlyRoots = [] } = options;
	const {
		maxBytes = DEFAULTS.maxWebBytes.default,
		maxPdfBytes = DEFAULTS.maxPdfBytes.default,
		maxCacheBytes = DEFAULTS.maxCacheBytes.default,
		maxEntries = DEFAULTS.maxEntries.default,
		ttlMs = DEFAULTS.ttlMinutes.default * 60_000,
		timeoutMs = DEFAULTS.timeoutSeconds.default * 1000,
		extractMs = DEFAULTS.extractSeconds.default * 1000,
	} = options;
	const web = createSafeFetch({
		allowRanges: parseAllowRanges(options.allowRanges ?? DEFAULTS.allowRanges.default),
		useProxy: options.useProxy ?? DEFAULTS.useProxy.default,
		timeoutMs,
		maxBytes,
		maxPdfBytes,
		userAgent: "pi-strata",
	});
	const extractor = createExtractor({ deadlineMs: extractMs });
	const pdf = createPdfEngine({ deadlineMs: extractMs });
	const cache = createResourceCache<Resource>({
		ttlMs,
		maxEntries,
		maxBytes: maxCacheBytes,
		sizeOf,
		dispose: (resource) => {
			if (resource.kind === "pdf") void resource.document.close();
		},
		...(options.now && { now: options.now }),
	});

	return {
		async find(uri: string): Promise<Target> {
			const target = normaliseUri(uri, root);
			if (target.kind === "web") {
				return { key: target.key, load: webLoader(target.url), revalidate: false };
			}
			const files = { root, readOnlyRoots, maxBytes: maxPdfBytes };
			const file = await locateFile(target.path, files);
			const load: Loader<Resource> = async ({ previous, signal }) => {
				if (previous?.validators === file.validators) return previous;
				const bytes = await readLocated(file, files);
				const name = basename(file.path);
				return convert({ name, bytes, validators: file.validators, isLocal: true }, signal);
			};
			return { key: `file:${file.path}`, load, revalidate: true, version: file.validators };
		},

		/** `continues`: a read with a cursor, which prolongs the resource's life. */
		use: <R>(
			target: Target,
			{ signal, continues }: { signal?: AbortSignal | undefined; continues: boolean },
			work: (resource: Resource) => Promise<R> | R,
		) => cache.use({ ...target, signal, sinceLoad: !continues }, work),

		async close() {
			cache.clear();
			await Promise.all([web.close(), extractor.close(), pdf.close()]);
		},
	};

	function webLoader(url: URL): Loader<Resource> {
		return async ({ previous, signal }) => {
			const validators = previous?.validators as Validators | undefined;
			const answer = await web.fetch(url, { signal, validators });
			if (answer.kind === "not_modified") {
				if (previous) return previous;
				throw new PagingError(
					"http_status",
					`${url.host} answered "not modified" to a first request`,
				);
			}
			const { bytes, contentType, finalUrl, etag, lastModified } = answer;
			return convert(
				{
					name: shownUrl(finalUrl),
					bytes,
					contentType,
					url: finalUrl,
					requested: url,
					validators: { finalUrl, etag, lastModified } satisfies Validators,
				},
				signal,
			);
		};
	}

	async function convert(loaded: Loaded, signal: AbortSignal): Promise<Resource> {
		const { name, bytes, contentType, url, requested, validators } = loaded;
		const kind = kindOf(bytes, contentType, name);
		const shared = {
			validators,
			contentType,
			finalUri: url && requested && url.href !== requested.href ? url.href : undefined,
		};
		if (kind === "pdf") {
			const document = await pdf.open(bytes, signal);
			return {
				kind,
				document,
				pages: createPdfPages(document),
				bytes: bytes.length,
				content: digest(bytes),
				title: document.title,
				...shared,
			};
		}
		if (bytes.length > maxBytes) throw tooLarge(name, maxBytes);
		if (kind === "binary") {
			throw new PagingError(
				"not_text",
				`read supports only text and PDF; ${name} is ${shownType(contentType)}`,
			);
		}
		const text = await decodeInSlices(bytes, { contentType, isHtml: kind === "html" });
		// A local page is source code to its reader.
		if (kind === "text" || loaded.isLocal) return textResource("text", text, shared);
		const { markdown, title, degraded } = await extractor.extract(
			{ html: text, baseUrl: url?.href ?? "" },
			signal,
		);
		return textResource("html", markdown, { ...shared, title, degraded });
	}
}

/** The header is untrusted text: it reaches the model only if it looks like a type. */
function shownType(contentType: string | undefined): string {
	const { type } = parseMediaType(contentType);
	return /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(type) ? type : "binary";
}

const DEFAULTS = settingGroups.paging.settings;

interface Loaded {
	name: string;
	bytes: Buffer;
	contentType?: string | undefined;
	url?: URL;
	requested?: URL;
	validators: unknown;
	isLocal?: boolean;
}
