import { once } from "node:events";
import {
	createServer,
	type IncomingHttpHeaders,
	type IncomingMessage,
	type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import {
	brotliCompressSync,
	constants,
	createBrotliCompress,
	deflateRawSync,
	deflateSync,
	gzipSync,
} from "node:zlib";
import { CHARSET_SAMPLES } from "./charset-samples.ts";

/** An answer that {@link HostileWeb.serve} gives to every request of a path. */
export interface WebAnswer {
	status?: number;
	headers?: Record<string, string | string[]>;
	body?: string | Buffer;
}

/** One request as it arrived. */
export interface WebRequest {
	/** Path and query; the whole URL if we were taken for a proxy. */
	url: string;
	headers: IncomingHttpHeaders;
}

/** A web server on a loopback address with well-behaved, broken and malicious routes; see {@link ROUTES}. */
export interface HostileWeb {
	/** `http://127.0.0.1:port`. */
	origin: string;
	port: number;
	/** How many connections were accepted so far. */
	readonly connections: number;
	requests: readonly WebRequest[];
	url(path: string): URL;
	/** Answers a path from now on; a second call replaces the answer. An `etag` among the headers is honoured. */
	serve(path: string, answer: WebAnswer): void;
	/** Ends unfinished answers too. May be called twice. */
	close(): Promise<void>;
}

/** Starts a server on a free port. Close it when the test ends. */
export async function startHostileWeb({ host = "127.0.0.1" } = {}): Promise<HostileWeb> {
	const requests: WebRequest[] = [];
	const served = new Map<string, WebAnswer>();
	let connections = 0;

	async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
		const target = req.url ?? "/";
		requests.push({ url: target, headers: req.headers });
		// A client that takes us for a proxy sends a whole URL, and gets our page for its path.
		const url = target.startsWith("/") ? `http://loopback${target}` : target;
		const { pathname, searchParams } = new URL(url);
		const own = served.get(pathname);
		if (own) return send(res, isKnown(req, own) ? { status: 304 } : own);
		const [, name = "", argument = ""] = pathname.split("/");
		const route = ROUTES[name];
		if (!route) return send(res, { status: 404, body: "no such page" });
		await route({ req, res, argument, query: searchParams });
	}

	const server = createServer((req, res) => {
		handle(req, res).catch(() => res.destroy());
	});
	server.on("connection", () => connections++);
	server.listen(0, host);
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	const origin = `http://${host.includes(":") ? `[${host}]` : host}:${port}`;

	return {
		origin,
		port,
		requests,
		get connections() {
			return connections;
		},
		url: (path) => new URL(path, origin),
		serve: (path, answer) => void served.set(path, answer),
		async close() {
			if (!server.listening) return;
			const closed = once(server, "close");
			server.close();
			server.closeAllConnections();
			await closed;
		},
	};
}

interface Visit {
	req: IncomingMessage;
	res: ServerResponse;
	/** The second part of the path. */
	argument: string;
	query: URLSearchParams;
}

type Route = (visit: Visit) => void | Promise<void>;

/** A text of some length, with characters of one to four bytes. */
export const ARTICLE = "Über 山 und 😀: a line of the article.\n".repeat(500);

/** The routes by the first part of their path; the second is the argument. */
const ROUTES: Record<string, Route> = {
	/** `/ok`: a small HTML page. */
	ok: ({ res }) => send(res, html("<!doctype html><title>Ok</title><p>All is well.")),
	article: ({ res }) => send(res, text(ARTICLE)),
	/** `/charset/shift_jis`: a sample in that charset, named by the header unless `?silent`. */
	charset: ({ res, argument, query }) => {
		const sample = CHARSET_SAMPLES.find(({ charset }) => charset === argument);
		const type = query.has("silent") ? "text/plain" : `text/plain; charset=${argument}`;
		send(res, { headers: { "content-type": type }, body: sample?.bytes ?? Buffer.alloc(0) });
	},
	/** `/type?as=image/png`: an HTML page under any content type; without `as`, under none. */
	type: ({ res, query }) => {
		const as = query.get("as");
		const headers: Record<string, string> = as === null ? {} : { "content-type": as };
		send(res, { headers, body: "<!doctype html><title>T</title><p>A page." });
	},
	/** `/status/404`, with a body. */
	status: ({ res, argument }) => send(res, { status: Number(argument), body: "a status page" }),
	empty: ({ res }) => send(res, text("")),

	/** `/hops/3`: three redirects, then `/ok`. */
	hops: ({ res, argument }) => {
		const left = Number(argument);
		redirect(res, left > 1 ? `/hops/${left - 1}` : "/ok");
	},
	loop: ({ res }) => redirect(res, "/loop"),
	/** `/to?url=…&status=301`: a redirect to anything, written as it is. */
	to: ({ res, query }) => redirect(res, query.get("url") ?? "", Number(query.get("status") ?? 302)),
	/** A redirect without a target. */
	nowhere: ({ res }) => send(res, { status: 302 }),
	/** A redirect whose own body never ends. */
	"chatty-redirect": ({ res }) => {
		res.writeHead(302, { location: "/ok" });
		return endless(res);
	},

	/** `/etag`: honours `If-None-Match` and `If-Modified-Since`. */
	etag: ({ req, res }) => {
		const validators = { etag: '"v1"', "last-modified": "Mon, 01 Jan 2024 00:00:00 GMT" };
		const isKnown =
			req.headers["if-none-match"] === validators.etag ||
			req.headers["if-modified-since"] === validators["last-modified"];
		if (isKnown) return send(res, { status: 304, headers: validators });
		send(res, { ...text("version one"), headers: { "content-type": "text/plain", ...validators } });
	},
	/** Answers 304 to any request. */
	"always-304": ({ res }) => send(res, { status: 304 }),

	/** `/packed/br`: the article in a coding; codings joined by commas are applied in their order. */
	packed: ({ res, argument }) => {
		const codings = argument.split(",");
		send(res, packed(argument, codings.reduce(pack, Buffer.from(ARTICLE))));
	},
	/** `/bomb/gzip`: 300 MB of zeros, small on the wire. */
	bomb: async ({ res, argument }) => send(res, packed(argument, await bombOf(argument))),
	/** `/hollow`: packed twice; the inner packing is 10 MB of empty blocks, which unpack to nothing. */
	hollow: ({ res }) => {
		const emptyBlocks = Buffer.alloc(5 * 2_000_000, Buffer.from([0, 0, 0, 0xff, 0xff]));
		send(res, packed("deflate, gzip", gzipSync(emptyBlocks, { level: 1 })));
	},
	/** `/coding?as=zstd`: names a coding, and sends bytes that are in none. */
	coding: ({ res, query }) => send(res, packed(query.get("as") ?? "", Buffer.from("not packed"))),
	/** `/cut/gzip`: a packed body that ends in the middle, in an answer that is complete as HTTP. */
	cut: ({ res, argument }) => {
		const whole = pack(Buffer.from(ARTICLE), argument);
		send(res, packed(argument, whole.subarray(0, whole.length >> 1)));
	},
	/** `/corrupt/gzip`: a packed body with wrong bytes in the middle. */
	corrupt: ({ res, argument }) => {
		const whole = pack(Buffer.from(ARTICLE), argument);
		whole.fill(0xa5, whole.length >> 1, (whole.length >> 1) + 20);
		send(res, packed(argument, whole));
	},
	/** `/padded/gzip`: a packed body, padded with zeros. */
	padded: ({ res, argument }) => {
		const whole = pack(Buffer.from(ARTICLE), argument);
		send(res, packed(argument, Buffer.concat([whole, Buffer.alloc(20)])));
	},

	/** Announces more bytes than it sends, then hangs up. */
	short: ({ res }) => raw(res, "Content-Length: 100\r\n\r\nonly this"),
	/** Hangs up in the middle of a chunk. */
	"short-chunk": ({ res }) => raw(res, "Transfer-Encoding: chunked\r\n\r\n64\r\nonly this"),
	/** Hangs up between chunks, without the last one. */
	"no-last-chunk": ({ res }) => raw(res, "Transfer-Encoding: chunked\r\n\r\n4\r\nthis\r\n"),
	"bad-chunk": ({ res }) => raw(res, "Transfer-Encoding: chunked\r\n\r\nzz\r\nthis\r\n0\r\n\r\n"),
	/** Answers with something that is not HTTP. */
	noise: ({ res }) => void res.socket?.end("SSH-2.0-OpenSSH_9.9\r\n"),
	/** Resets the connection before, or with `/reset/body` within the answer. */
	reset: async ({ res, argument }) => {
		if (argument === "body") {
			res.writeHead(200, { "content-length": "1000" });
			res.write("the first part");
			await sleep(50);
		}
		res.socket?.resetAndDestroy();
	},

	/** `/drip?ms=20`: a byte now and then, for ever. */
	drip: async ({ res, query }) => {
		res.writeHead(200, { "content-type": "text/plain" });
		while (!res.destroyed) {
			res.write("x");
			await sleep(Number(query.get("ms") ?? 20));
		}
	},
	/** The same, of a packed body: its first kilobyte quickly, the rest never. */
	"packed-drip": async ({ res }) => {
		res.writeHead(200, { "content-type": "text/plain", "content-encoding": "gzip" });
		const whole = gzipSync(Buffer.from(Array.from({ length: 20_000 }, Math.random).join()));
		res.write(whole.subarray(0, 2048));
		for (let at = 2048; at < whole.length && !res.destroyed; at++) {
			res.write(whole.subarray(at, at + 1));
			await sleep(20);
		}
	},
	/** Headers one at a time, for ever. */
	"drip-headers": async ({ res }) => {
		res.socket?.write("HTTP/1.1 200 OK\r\n");
		while (!res.destroyed) {
			res.socket?.write("X-More: y\r\n");
			await sleep(20);
		}
	},
	/** Accepts the request and never answers. */
	silence: () => {},
	endless: ({ res }) => {
		res.writeHead(200, { "content-type": "text/plain" });
		return endless(res);
	},
	/** `/sized?bytes=n&type=t`: that many bytes with a true Content-Length; `&pdf` begins like a PDF. */
	sized: ({ res, query }) => {
		const body = Buffer.alloc(Number(query.get("bytes")), "x");
		if (query.has("pdf")) body.write("junk\n%PDF-1.7\n");
		send(res, { headers: { "content-type": query.get("type") ?? "text/plain" }, body });
	},
	/** Claims a huge length, and sends the first 64 kB of it. */
	boast: ({ res }) => {
		res.writeHead(200, { "content-type": "text/plain", "content-length": "4000000000" });
		res.write(Buffer.alloc(65_536, "x"));
	},
	/** `/tiny-chunks?bytes=n`: a chunk a byte. */
	"tiny-chunks": async ({ res, query }) => {
		res.socket?.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
		res.socket?.write("1\r\nx\r\n".repeat(Number(query.get("bytes"))));
		res.socket?.end("0\r\n\r\n");
	},
	/** `/big-headers?kb=n`. */
	"big-headers": ({ res, query }) => {
		const headers = { "x-big": Array(Number(query.get("kb"))).fill("y".repeat(1000)) };
		send(res, { headers, body: "behind big headers" });
	},
	/** Sets a cookie; whether it comes back is in `requests`. */
	cookie: ({ res }) => {
		res.setHeader("set-cookie", ["id=1; Path=/", "other=2"]);
		redirect(res, "/ok");
	},
};

function isKnown(req: IncomingMessage, { headers = {} }: WebAnswer): boolean {
	return headers.etag !== undefined && req.headers["if-none-match"] === headers.etag;
}

function send(res: ServerResponse, { status = 200, headers = {}, body = "" }: WebAnswer): void {
	// Sent whole, Node adds the length; a HEAD, 204 or 304 has no body.
	res.writeHead(status, headers);
	res.end(body);
}

function text(body: string): WebAnswer {
	return { headers: { "content-type": "text/plain; charset=utf-8" }, body };
}

function html(body: string): WebAnswer {
	return { headers: { "content-type": "text/html; charset=utf-8" }, body };
}

function packed(coding: string, body: Buffer): WebAnswer {
	const headers = { "content-type": "text/plain", "content-encoding": coding.replace("raw-", "") };
	return { headers, body };
}

/** Written past Node, which checks and encodes headers. */
function redirect(res: ServerResponse, location: string, status = 302): void {
	const cookies = [res.getHeader("set-cookie") ?? []].flat().map((it) => `Set-Cookie: ${it}\r\n`);
	res.socket?.end(
		`HTTP/1.1 ${status} Moved\r\nLocation: ${location}\r\n${cookies.join("")}Content-Length: 0\r\nConnection: close\r\n\r\n`,
	);
}

function raw(res: ServerResponse, rest: string): void {
	res.socket?.end(`HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n${rest}`);
}

/** Runs until the client disconnects, which is the error that is caught here. */
async function endless(res: ServerResponse): Promise<void> {
	await pipeline(Readable.from(forEver(Buffer.alloc(65_536, "x"))), res).catch(() => {});
}

function* forEver(part: Buffer): Generator<Buffer> {
	while (true) yield part;
}

function pack(bytes: Buffer, coding: string): Buffer {
	if (coding === "gzip" || coding === "x-gzip") return gzipSync(bytes);
	if (coding === "br") return brotliCompressSync(bytes);
	if (coding === "deflate") return deflateSync(bytes);
	if (coding === "raw-deflate") return deflateRawSync(bytes);
	return bytes;
}

const MIB = 1024 * 1024;
const bombs = new Map<string, Promise<Buffer>>();

/** 300 MB of zeros in a coding, made once. */
function bombOf(coding: string): Promise<Buffer> {
	const bomb = bombs.get(coding) ?? makeBomb(coding);
	bombs.set(coding, bomb);
	return bomb;
}

/** Never with 300 MB in memory: most formats let packed parts follow one another. */
async function makeBomb(coding: string): Promise<Buffer> {
	const part = Buffer.alloc(MIB);
	const parts = (piece: Buffer): Buffer[] => Array(300).fill(piece);
	if (coding === "gzip") return Buffer.concat(parts(gzipSync(part)));
	if (coding === "gzip,gzip") return gzipSync(await bombOf("gzip"));
	if (coding === "deflate") {
		const block = deflateRawSync(part, { finishFlush: constants.Z_FULL_FLUSH });
		return Buffer.concat([...parts(block), deflateRawSync("")]);
	}
	if (coding !== "br") throw new Error(`no bomb in ${coding}`);
	const params = { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_LGWIN]: 24 };
	return buffer(Readable.from(parts(part)).pipe(createBrotliCompress({ params })));
}
