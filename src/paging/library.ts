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

/** Where resources may come from, and the limits of everything. All but `root` have defaults, those of the settings. */
export interface LibraryOptions {
	/** The folder that paths start from, and that files must lie in. */
	root: string;
	/** Further folders that files may be read from. */
	readOnlyRoots?: readonly string[];
	/** Network ranges (CIDR) that may be reached although they are not public. */
	allowRanges?: readonly string[];
	/** Use the proxies named in the environment; the address behind a name is then not checked. */
	useProxy?: boolean;
	/** How long a resource is used without asking again; continuing to read prolongs it. */
	ttlMs?: number;
	/** How many resources are kept at most. */
	maxEntries?: number;
	/** How much memory they may take together. */
	maxCacheBytes?: number;
	/** Time for a whole request, redirects included. */
	timeoutMs?: number;
	/** Largest page or text, unpacked. */
	maxBytes?: number;
	/** Largest PDF. */
	maxPdfBytes?: number;
	/** Time for converting one page before a simpler conversion is used. */
	extractMs?: number;
	now?: () => number;
}

/** A resource that was asked for, not loaded yet. */
interface Target {
	/** The same for all spellings of one address. */
	key: string;
	load: Loader<Resource>;
	/** Files are looked at every time, since that costs next to nothing. */
	revalidate: boolean;
	/** Of a file: what it was when it was looked at. */
	version?: string;
}

/** Finds, loads, converts and keeps resources. */
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

		/** `continues`: with a cursor, which prolongs the time a resource is kept. */
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
		// A local page is source code to whoever reads it here.
		if (kind === "text" || loaded.isLocal) return textResource("text", text, shared);
		const { markdown, title, degraded } = await extractor.extract(
			{ html: text, baseUrl: url?.href ?? "" },
			signal,
		);
		return textResource("html", markdown, { ...shared, title, degraded });
	}
}

/** Shown only if it looks like a type: whoever wrote the header may be writing to the model. */
function shownType(contentType: string | undefined): string {
	const { type } = parseMediaType(contentType);
	return /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(type) ? type : "binary";
}

const DEFAULTS = settingGroups.paging.settings;

interface Loaded {
	/** For messages. */
	name: string;
	bytes: Buffer;
	contentType?: string | undefined;
	/** Where it came from in the end, and where it was asked for. */
	url?: URL;
	requested?: URL;
	validators: unknown;
	isLocal?: boolean;
}
