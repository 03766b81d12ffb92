import { readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, resolve, sep } from "node:path";
import type { Config } from "../core/config.ts";
import { readRegularFile } from "../core/regular-file.ts";
import { settingGroups } from "../core/settings.ts";
import { type Chunker, createChunker } from "./chunk.ts";
import { type Digest, digest, digestInSlices } from "./cursor.ts";
import { PagingError, tooLarge } from "./errors.ts";
import { createExtractor } from "./extract/extractor.ts";
import { parseAllowRanges, shownUrl } from "./fetch/address.ts";
import { decodeInSlices, kindOf, parseMediaType } from "./fetch/content.ts";
import type { Validators } from "./fetch/exchange.ts";
import { createSafeFetch } from "./fetch/safe-fetch.ts";
import { createPdfEngine, type PdfDocument } from "./pdf/pdf-engine.ts";
import { createPdfPages, type PdfPages } from "./pdf-chunk.ts";
import { createResourceCache, type Loader, type ResourceRequest } from "./resource-cache.ts";
import { normaliseUri } from "./uri.ts";

/** Settings have their defaults. */
export interface ReaderOptions extends Partial<Config["paging"]> {
	/** Relative paths start here, and files must lie in it. */
	root: string;
	readOnlyRoots?: readonly string[];
	now?: () => number;
}

export type Resource = TextResource | PdfResource;

interface Shared {
	/** Binds cursors to the text, or to a PDF's bytes. */
	content: Digest;
	contentType?: string | undefined;
	title?: string | undefined;
	/** The address after redirects, if it differs. */
	finalUri?: string | undefined;
	/** The source's own means to detect a change cheaply. */
	validators: unknown;
}

export interface TextResource extends Shared {
	kind: "html" | "text";
	text: string;
	chunker: Chunker;
	degraded?: boolean;
}

export interface PdfResource extends Shared {
	kind: "pdf";
	document: PdfDocument;
	pages: PdfPages;
	bytes: number;
}

export async function textResource(
	kind: TextResource["kind"],
	text: string,
	more: Omit<TextResource, "kind" | "text" | "chunker" | "content">,
): Promise<TextResource> {
	return { kind, text, chunker: createChunker(text), content: await digestInSlices(text), ...more };
}

/** Approximate memory, in bytes. */
export function sizeOf(resource: Resource): number {
	if (resource.kind === "pdf") return resource.bytes + resource.pages.keptChars * 2;
	return resource.text.length * 2;
}

export function createLibrary({ root, readOnlyRoots = [], now, ...options }: ReaderOptions) {
	const { maxWebBytes: maxBytes, maxPdfBytes, ...settings } = { ...DEFAULTS, ...options };
	const deadlineMs = settings.extractSeconds * 1000;
	const web = createSafeFetch({
		allowRanges: parseAllowRanges(settings.allowRanges),
		useProxy: settings.useProxy,
		timeoutMs: settings.timeoutSeconds * 1000,
		maxBytes,
		maxPdfBytes,
		userAgent: "pi-strata",
	});
	const extractor = createExtractor({ deadlineMs });
	const pdf = createPdfEngine({ deadlineMs });
	const cache = createResourceCache<Resource>({
		ttlMs: settings.ttlMinutes * 60_000,
		maxEntries: settings.maxEntries,
		maxBytes: settings.maxCacheBytes,
		sizeOf,
		dispose: (resource) => {
			if (resource.kind === "pdf") void resource.document.close();
		},
		...(now && { now }),
	});

	return {
		async find(uri: string): Promise<ResourceRequest<Resource>> {
			const address = normaliseUri(uri, root);
			if (address.kind === "web") return { key: address.key, load: webLoader(address.url) };
			const { path, validators } = await locateFile(address.path, [root, ...readOnlyRoots]);
			const load: Loader<Resource> = async ({ previous, signal }) => {
				if (previous?.validators === validators) return previous;
				const bytes = await readLocated(path, maxPdfBytes);
				return convert(bytes, { name: basename(path), validators }, signal);
			};
			// Checking a file is cheap.
			return { key: `file:${path}`, load, revalidate: true, version: validators };
		},
		use: cache.use,
		async close() {
			cache.clear();
			await Promise.all([web.close(), extractor.close(), pdf.close()]);
		},
	};

	function webLoader(url: URL): Loader<Resource> {
		return async ({ previous, signal }) => {
			const known = previous?.validators as Validators | undefined;
			const answer = await web.fetch(url, { signal, validators: known });
			// Only validators of an earlier answer lead here.
			if (answer.kind === "not_modified") return previous as Resource;
			const { bytes, contentType, finalUrl, etag, lastModified } = answer;
			const source = {
				name: shownUrl(finalUrl),
				baseUrl: finalUrl.href,
				contentType,
				finalUri: finalUrl.href === url.href ? undefined : finalUrl.href,
				validators: { finalUrl, etag, lastModified } satisfies Validators,
			};
			return convert(bytes, source, signal);
		};
	}

	async function convert(
		bytes: Buffer,
		{ name, baseUrl, ...shared }: Source,
		signal: AbortSignal,
	): Promise<Resource> {
		const { contentType } = shared;
		const kind = kindOf(bytes, contentType, name);
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
		if (kind === "text" || baseUrl === undefined) return textResource("text", text, shared);
		const { markdown, title, degraded } = await extractor.extract({ html: text, baseUrl }, signal);
		return textResource("html", markdown, { ...shared, title, degraded });
	}
}

interface Source extends Pick<Resource, "validators" | "contentType" | "finalUri"> {
	name: string;
	/** Of a web page, after redirects. A local page is source code to its reader. */
	baseUrl?: string;
}

/** The header is untrusted text: it reaches the model only if it looks like a type. */
function shownType(contentType: string | undefined): string {
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
		// Only within the allowed folders may the error reveal what exists.
		await checkInside(await nearestReal(path), path, folders);
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

/** `path` is a real one: detects links swapped in since. */
async function readLocated(path: string, maxBytes: number): Promise<Buffer> {
	const name = basename(path);
	const content = await readRegularFile(path, maxBytes).catch((error) => {
		throw notFound(name, error);
	});
	if (content.kind === "missing") throw notFound(name);
	if (content.kind === "refused") {
		if (content.reason === "not-a-file") throw notAFile(name);
		throw tooLarge(name, maxBytes);
	}
	const still = await realpath(path).catch(() => undefined);
	if (still !== path) throw notFound(name);
	return content.bytes;
}

/** More than any system follows. */
const MAX_LINKS = 40;

/** The real path of the existing part of a missing path, following dangling links. */
async function nearestReal(path: string, links = 0): Promise<string> {
	const real = await realpath(path).catch(() => undefined);
	if (real !== undefined) return real;
	const target = links < MAX_LINKS ? await readlink(path).catch(() => undefined) : undefined;
	const folder = dirname(path);
	if (target === undefined) return folder === path ? path : nearestReal(folder, links);
	return nearestReal(resolve(await nearestReal(folder, links), target), links + 1);
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
	return new PagingError("not_found", `cannot read ${path}: no such file, or no permission`, {
		cause,
	});
}

function notAFile(path: string): PagingError {
	return new PagingError("not_a_file", `${path} is not an ordinary file`);
}
