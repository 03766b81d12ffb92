import { createReadStream } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname, join, sep } from "node:path";
import { pipeline } from "node:stream/promises";

/** Serves a dashboard file. Resolves to false if the file does not exist. */
export type Page = (request: IncomingMessage, response: ServerResponse) => Promise<boolean>;

const TYPES: ReadonlyMap<string, string> = new Map([
	[".html", "text/html; charset=utf-8"],
	[".js", "text/javascript; charset=utf-8"],
	[".css", "text/css; charset=utf-8"],
	[".json", "application/json; charset=utf-8"],
	[".svg", "image/svg+xml"],
	[".png", "image/png"],
	[".ico", "image/x-icon"],
	[".woff2", "font/woff2"],
	[".txt", "text/plain; charset=utf-8"],
	[".map", "application/json; charset=utf-8"],
]);

/** Forbids resources of other origins, and framing. */
const HEADERS = {
	"Content-Security-Policy":
		"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; " +
		"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"X-Content-Type-Options": "nosniff",
	"X-Frame-Options": "DENY",
	"Referrer-Policy": "no-referrer",
	"Cross-Origin-Opener-Policy": "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
} as const;

/** Matches names to which the build added a content hash. Such a file never changes. */
const HASHED = /[.-][A-Za-z0-9_-]{8,}\.[a-z0-9]+$/;
const NO_PAGE =
	"<!doctype html><title>strata</title><p>The server is running. Its dashboard is not built: run <code>npm run dashboard</code>.</p>\n";

/** Serves `index.html` for `/`, and the `.gz` of a file to clients that accept gzip. */
export function createPage(folder: string | undefined): Page {
	return async (request, response) => {
		const path = pathOf(request.url);
		if (path === undefined) return false;
		const file = folder === undefined ? undefined : await fileIn(folder, path);
		if (file) {
			await sendFile(file, request, response);
			return true;
		}
		if (path !== "/") return false;
		send(response, 200, {
			"Content-Type": "text/html; charset=utf-8",
			"Cache-Control": "no-store",
			"Content-Length": Buffer.byteLength(NO_PAGE),
		});
		response.end(request.method === "HEAD" ? undefined : NO_PAGE);
		return true;
	};
}

/** Returns `undefined` if the path is malformed or could point outside the folder. */
function pathOf(url: string | undefined): string | undefined {
	const [raw = "/"] = (url ?? "/").split(/[?#]/, 1);
	try {
		const path = decodeURIComponent(raw);
		const isPlain = path.startsWith("/") && !/[\\\0]/.test(path) && !/(^|\/)\./.test(path);
		return isPlain ? path : undefined;
	} catch {
		return undefined; // malformed escape sequence
	}
}

type PageFile = NonNullable<Awaited<ReturnType<typeof fileIn>>>;

async function fileIn(folder: string, path: string) {
	const name = path.endsWith("/") ? `${path}index.html` : path;
	const type = TYPES.get(extname(name));
	if (type === undefined) return undefined;
	try {
		const root = await realpath(folder);
		// A symbolic link must not point outside the folder.
		const real = await realpath(join(root, name));
		const stats = await stat(real);
		if (!real.startsWith(root + sep) || !stats.isFile()) return undefined;
		return { path: real, type, bytes: stats.size, mtimeMs: stats.mtimeMs };
	} catch {
		return undefined; // the file does not exist
	}
}

async function sendFile(file: PageFile, request: IncomingMessage, response: ServerResponse) {
	const takesGzip = /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""));
	const packed = takesGzip ? await stat(`${file.path}.gz`).catch(() => undefined) : undefined;
	// A `.gz` that is older than its file is from an older build.
	const isPacked = packed?.isFile() === true && packed.mtimeMs >= file.mtimeMs;
	const bytes = isPacked ? packed.size : file.bytes;
	const etag = `"${Math.round(file.mtimeMs).toString(36)}-${bytes.toString(36)}"`;
	const headers = {
		"Content-Type": file.type,
		"Cache-Control": HASHED.test(file.path) ? "public, max-age=31536000, immutable" : "no-cache",
		ETag: etag,
		Vary: "Accept-Encoding",
		...(isPacked && { "Content-Encoding": "gzip" }),
	};
	const isKnown = request.headers["if-none-match"] === etag;
	if (isKnown) send(response, 304, headers);
	else send(response, 200, { ...headers, "Content-Length": bytes });
	if (isKnown || request.method === "HEAD") response.end();
	else await pipeline(createReadStream(isPacked ? `${file.path}.gz` : file.path), response);
}

function send(response: ServerResponse, status: number, headers: Record<string, string | number>) {
	response.writeHead(status, { ...HEADERS, ...headers });
}
