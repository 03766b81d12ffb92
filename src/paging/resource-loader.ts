import { readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";
import type { Config } from "../core/config.ts";
import { matchesAny } from "../core/glob.ts";
import { readRegularFile } from "../core/regular-file.ts";
import { settingGroups } from "../core/settings.ts";
import { Chunker } from "./chunk.ts";
import { type Digest, digest, digestInSlices } from "./cursor.ts";
import { PagingError, tooLarge } from "./errors.ts";
import { Extractor } from "./extract/extractor.ts";
import type { PageMarkdown } from "./extract/html-to-markdown.ts";
import { displayUrl, parseAllowRanges } from "./fetch/address.ts";
import type { BodyLimits } from "./fetch/body.ts";
import { decodeInSlices, detectKind, parseMediaType } from "./fetch/content.ts";
import type { Validators } from "./fetch/exchange.ts";
import { isCompoundFile } from "./fetch/magic.ts";
import { SafeFetch } from "./fetch/safe-fetch.ts";
import { type PdfDocument, PdfEngine } from "./pdf/pdf-engine.ts";
import { PdfPageCache } from "./pdf-chunk.ts";
import { type CacheLookup, type Loader, ResourceCache } from "./resource-cache.ts";
import { textFormat } from "./text-format.ts";
import { normaliseUri } from "./uri.ts";

/** Options of a reader. The settings have the same defaults as in `strata.json`. */
export interface PagedReaderOptions extends Partial<Config["paging"]> {
	/** Relative paths start in this folder. Files must be in it or in one of the `readOnlyRoots`. */
	readonly root: string;
	readonly readOnlyRoots?: readonly string[];
	/** Files that are refused, by their path as given or after following links. Default: none. */
	readonly exclude?: readonly string[];
	readonly now?: () => number;
}

export type Resource = TextResource | PdfResource;

interface ResourceFields {
	/** Digest of the text, or of a PDF's bytes. A cursor is valid only for this content. */
	readonly content: Digest;
	readonly contentType?: string | undefined;
	readonly title?: string | undefined;
	/** The address after redirects, if it differs. */
	readonly finalUri?: string | undefined;
	/** Values that detect a change without loading the content. Their format depends on the source. */
	readonly validators: unknown;
}

export interface TextResource extends ResourceFields, Pick<PageMarkdown, PageFacts> {
	readonly kind: "html" | "text" | "document";
	readonly text: string;
	readonly chunker: Chunker;
	readonly degraded?: boolean;
}

/** What a page says about itself, and what of it is not in the text. */
type PageFacts = "author" | "published" | "leftOut" | "anchors";

export interface PdfResource extends ResourceFields {
	readonly kind: "pdf";
	readonly document: PdfDocument;
	readonly pages: PdfPageCache;
	readonly bytes: number;
}

export async function textResource(
	kind: TextResource["kind"],
	text: string,
	more: Omit<TextResource, "kind" | "text" | "chunker" | "content">,
): Promise<TextResource> {
	return { kind, text, chunker: new Chunker(text), content: await digestInSlices(text), ...more };
}

/** Approximate memory, in bytes. */
export function memoryOf(resource: Resource): number {
	if (resource.kind === "pdf") return resource.bytes + resource.pages.cachedChars * 2;
	return resource.text.length * 2;
}

/** Finds, loads and converts resources, and caches them. */
export class ResourceLoader {
	readonly #roots: readonly [string, ...string[]];
	readonly #exclude: readonly string[];
	readonly #limits: Pick<BodyLimits, "maxBytes" | "maxPdfBytes">;
	readonly #web: SafeFetch;
	readonly #extractor: Extractor;
	readonly #pdf: PdfEngine;
	readonly #cache: ResourceCache<Resource>;

	constructor({ root, readOnlyRoots = [], exclude = [], now, ...options }: PagedReaderOptions) {
		const { maxWebBytes: maxBytes, maxPdfBytes, ...settings } = { ...DEFAULTS, ...options };
		const deadlineMs = settings.extractSeconds * 1000;
		this.#roots = [root, ...readOnlyRoots];
		this.#exclude = exclude;
		this.#limits = { maxBytes, maxPdfBytes };
		this.#web = new SafeFetch({
			allowRanges: parseAllowRanges(settings.allowRanges),
			useProxy: settings.useProxy,
			timeoutMs: settings.timeoutSeconds * 1000,
			...this.#limits,
			userAgent: "pi-strata",
		});
		this.#extractor = new Extractor({ deadlineMs });
		this.#pdf = new PdfEngine({ deadlineMs });
		this.#cache = new ResourceCache({
			ttlMs: settings.ttlMinutes * 60_000,
			maxEntries: settings.maxEntries,
			maxBytes: settings.maxCacheBytes,
			sizeOf: memoryOf,
			dispose: (resource) => {
				if (resource.kind === "pdf") resource.document.close();
			},
			...(now && { now }),
		});
	}

	/** Checks the address without loading the resource. */
	async lookup(uri: string, variant: ReadVariant = {}): Promise<CacheLookup<Resource>> {
		const address = normaliseUri(uri, this.#roots[0]);
		const mark = variantKey(variant);
		if (address.kind === "web") {
			return { key: `${address.key}${mark}`, load: this.#webLoader(address.url, variant) };
		}
		const { path, validators } = await locateFile(address.path, this.#roots);
		if ([address.path, path].some((one) => matchesAny(this.#exclude, one))) {
			const message = `${address.path} is excluded by readcache.exclude in strata.json`;
			throw new PagingError("excluded", message);
		}
		const load: Loader<Resource> = async ({ previous, signal }) => {
			if (previous?.validators === validators) return previous;
			const bytes = await readLocated(path, this.#limits.maxPdfBytes);
			const baseUrl = pathToFileURL(path).href;
			return this.#convert(bytes, { name: basename(path), baseUrl, validators }, variant, signal);
		};
		// Each use revalidates a file, since checking it is cheap.
		return { key: `file:${path}${mark}`, load, revalidate: true, version: validators };
	}

	use<R>(lookup: CacheLookup<Resource>, work: (resource: Resource) => Promise<R>): Promise<R> {
		return this.#cache.use(lookup, work);
	}

	async close(): Promise<void> {
		this.#cache.clear();
		await Promise.all([this.#web.close(), this.#extractor.close(), this.#pdf.close()]);
	}

	#webLoader(url: URL, variant: ReadVariant): Loader<Resource> {
		return async ({ previous, signal }) => {
			const validators = previous?.validators as Validators | undefined;
			const fetched = await this.#web.fetch(url, { signal, validators });
			// Only requests with validators of an earlier response get this outcome, so `previous` exists.
			if (fetched.kind === "not_modified") return previous as Resource;
			const { kind: _, bytes, contentType, ...fresh } = fetched;
			const { href: baseUrl } = fresh.finalUrl;
			const finalUri = baseUrl === url.href ? undefined : baseUrl;
			const name = displayUrl(fresh.finalUrl);
			const source = { name, baseUrl, contentType, finalUri, validators: fresh };
			return this.#convert(bytes, source, variant, signal);
		};
	}

	/** The plain text that a page names as its source, if it is on the same site or on its host for files. */
	async #namedSource(named: string | undefined, baseUrl: string, signal: AbortSignal) {
		const url = named === undefined ? null : URL.parse(named);
		if (!url || !isSameSite(url, baseUrl)) return undefined;
		try {
			const fetched = await this.#web.fetch(url, { signal });
			if (fetched.kind === "not_modified") return undefined;
			const { bytes, contentType, finalUrl } = fetched;
			if (!isSameSite(finalUrl, baseUrl)) return undefined;
			if (detectKind(bytes, contentType) !== "text" || bytes.length > this.#limits.maxBytes)
				return undefined;
			const text = await decodeInSlices(bytes, { contentType, isHtml: false });
			return text.trim() === "" ? undefined : { text, uri: finalUrl.href, contentType };
		} catch (error) {
			signal.throwIfAborted();
			// The page itself is at hand, so its source may be missing.
			if (error instanceof PagingError) return undefined;
			throw error;
		}
	}

	async #convert(
		bytes: Buffer,
		source: Source,
		{ everything, password }: ReadVariant,
		signal: AbortSignal,
	): Promise<Resource> {
		const { name, baseUrl, ...shared } = source;
		const { contentType } = source;
		const kind = detectKind(bytes, contentType, name);
		if (kind === "pdf") {
			const document = await this.#pdf.open(bytes, signal, password);
			return {
				kind,
				document,
				pages: new PdfPageCache(document),
				bytes: bytes.length,
				content: digest(bytes),
				title: document.title,
				...shared,
			};
		}
		if (kind === "archive") {
			const job = { kind, bytes, name, everything } as const;
			const { markdown, title, leftOut } = await this.#extractor.document(job, name, signal);
			return textResource("document", markdown, { ...shared, title, leftOut });
		}
		const { maxBytes } = this.#limits;
		if (bytes.length > maxBytes) throw tooLarge(name, maxBytes);
		if (isCompoundFile(bytes)) {
			const why = bytes.includes(ENCRYPTED_PACKAGE)
				? "it is protected with a password: save a copy without one"
				: "it has the format of Office before 2007: save it as .docx, .xlsx or .pptx";
			throw new PagingError("bad_document", `cannot read ${name}: ${why}`);
		}
		if (kind === "binary") {
			const message = `read supports only text, PDF, office documents, books and archives; ${name} is ${displayType(contentType)}`;
			throw new PagingError("not_text", message);
		}
		if (kind === "html") {
			const html = { bytes, contentType };
			const page = await this.#extractor.extract({ html, baseUrl, everything }, signal);
			const { markdown, reason: _, source: address, ...facts } = page;
			const sourceText = everything ? undefined : await this.#namedSource(address, baseUrl, signal);
			if (sourceText !== undefined) {
				const { text: plain, uri: finalUri, contentType: plainType } = sourceText;
				const named = { contentType: plainType, title: facts.title, finalUri };
				return textResource("text", plain, { ...shared, ...named });
			}
			return textResource("html", markdown, { ...shared, ...facts });
		}
		const text = await decodeInSlices(bytes, { contentType, isHtml: false });
		const format = everything ? undefined : textFormat(text, contentType, name);
		if (format === undefined) return textResource("text", text, shared);
		try {
			const job = { kind, format, text, baseUrl } as const;
			const found = await this.#extractor.document(job, name, signal);
			return await textResource("text", found.markdown, { ...shared, title: found.title });
		} catch (error) {
			// The text as it is says the same, if less readably.
			if (!(error instanceof PagingError) || error.code !== "bad_document") throw error;
			return textResource("text", text, { ...shared, degraded: true });
		}
	}
}

/** The part of a compound file that holds a document with a password. */
const ENCRYPTED_PACKAGE = Buffer.from("EncryptedPackage", "utf16le");

/** Ways to read the same resource that give different texts. */
interface ReadVariant {
	readonly everything?: boolean | undefined;
	/** The password of an encrypted PDF. */
	readonly password?: string | undefined;
}

/** Hosts from which forges serve the files of their pages. */
const RAW_HOSTS: Readonly<Record<string, string>> = { "github.com": "raw.githubusercontent.com" };

function isSameSite(url: URL, page: string): boolean {
	const { origin, hostname, protocol } = new URL(page);
	if (!/^https?:$/.test(protocol)) return false;
	return (
		url.origin === origin || (url.protocol === "https:" && url.hostname === RAW_HOSTS[hostname])
	);
}

/** The password itself stays out of keys. */
function variantKey({ everything, password }: ReadVariant): string {
	return `${everything ? " everything" : ""}${password === undefined ? "" : ` ${digest(password)}`}`;
}

interface Source extends Pick<Resource, "validators" | "contentType" | "finalUri"> {
	readonly name: string;
	/** The address after redirects, against which links are resolved. */
	readonly baseUrl: string;
}

/** The header is untrusted text: it reaches the model only if it looks like a media type. */
function displayType(contentType: string | undefined): string {
	const { type } = parseMediaType(contentType);
	return /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(type) ? type : "binary";
}

const DEFAULTS = Object.fromEntries(
	Object.entries(settingGroups.paging.settings).map(([name, setting]) => [name, setting.default]),
) as Config["paging"];

/**
 * Checks that the file lies in an allowed folder after following all links. Returns its real path,
 * and a version to detect changes.
 */
async function locateFile(path: string, folders: readonly string[]) {
	const real = await realpath(path).catch(async (error) => {
		// The error must not reveal what exists outside the allowed folders.
		await checkInside(await existingPath(path), path, folders);
		throw notFound(path, error);
	});
	await checkInside(real, path, folders);
	const info = await stat(real, { bigint: true }).catch((error) => {
		throw notFound(path, error);
	});
	if (!info.isFile()) throw notAFile(path);
	const { dev, ino, size, mtimeNs, ctimeNs } = info;
	return { path: real, validators: [dev, ino, size, mtimeNs, ctimeNs].join(":") };
}

/** `path` must be a real path. Fails if a link has replaced a part of it since it was resolved. */
async function readLocated(path: string, maxBytes: number): Promise<Buffer> {
	const name = basename(path);
	const content = await readRegularFile(path, maxBytes).catch((error) => {
		throw notFound(name, error);
	});
	if (content.kind === "missing") throw notFound(name);
	if (content.kind === "refused")
		throw content.reason === "not-a-file" ? notAFile(name) : tooLarge(name, maxBytes);
	const still = await realpath(path).catch(() => undefined);
	if (still !== path) throw notFound(name);
	return content.bytes;
}

/** Maximum number of symbolic links to follow, as in Linux. */
const MAX_LINKS = 40;

/** Returns the real path of the part of a missing path that exists. Follows dangling links. */
async function existingPath(path: string, links = 0): Promise<string> {
	const real = await realpath(path).catch(() => undefined);
	if (real !== undefined) return real;
	const target = links < MAX_LINKS ? await readlink(path).catch(() => undefined) : undefined;
	const folder = dirname(path);
	if (target === undefined) return folder === path ? path : existingPath(folder, links);
	return existingPath(resolve(await existingPath(folder, links), target), links + 1);
}

async function checkInside(real: string, shown: string, folders: readonly string[]): Promise<void> {
	for (const folder of folders) {
		const allowed = await realpath(folder).catch(() => undefined);
		if (allowed && `${real}${sep}`.startsWith(allowed.endsWith(sep) ? allowed : allowed + sep))
			return;
	}
	throw new PagingError("outside_root", `${shown} is outside the folders that may be read here`);
}

function notFound(path: string, cause?: unknown): PagingError {
	const message = `cannot read ${path}: no such file, or no permission`;
	return new PagingError("not_found", message, { cause });
}

function notAFile(path: string): PagingError {
	return new PagingError("not_a_file", `${path} is not an ordinary file`);
}
