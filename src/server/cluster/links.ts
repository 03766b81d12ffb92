import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocket, WebSocketServer } from "ws";
import { isLoopback } from "../../core/loopback.ts";
import {
	answerChallenge,
	type Challenge,
	createChallenge,
	createHello,
	helloHeaders,
	isAnswered,
	readHello,
} from "./handshake.ts";
import { Link, type LinkLimits } from "./link.ts";
import { LINK_PATH } from "./link-request.ts";

interface Peer {
	readonly id: string;
	readonly address: string;
}

interface LinksOptions {
	readonly secret: string;
	/** This server's id. It changes if the others gave it up. */
	self(): string;
	readonly limits: LinkLimits;
	/** Largest frame. */
	readonly maxFrameBytes: number;
	/** Allows links without TLS to other machines. */
	readonly allowsPlain: boolean;
	readonly warn: (line: string) => void;
	/** A new link. A link that it replaces was closed before. */
	onLink(link: Link): void;
}

const HANDSHAKE_MS = 5_000;
/** Characters of another server's reason that are shown. */
const MAX_REFUSAL = 200;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;
/** The server with the larger id waits this long for the other one. */
const SECOND_MS = 500;

interface Dialing {
	readonly address: string;
	attempts: number;
	timer?: NodeJS.Timeout;
	isConnecting: boolean;
	/** The last complaint: repeated ones are not printed. */
	complaint?: string;
}

/** Keeps one link to every other living server. Of two servers, the one with the smaller id dials first. */
export class Links {
	readonly #options: LinksOptions;
	readonly #links = new Map<string, Link>();
	readonly #dialing = new Map<string, Dialing>();
	readonly #server: WebSocketServer;
	#self: string;
	#isClosed = false;

	constructor(options: LinksOptions) {
		this.#options = options;
		this.#self = options.self();
		this.#server = new WebSocketServer({
			noServer: true,
			clientTracking: false,
			perMessageDeflate: false,
			skipUTF8Validation: true,
			maxPayload: options.maxFrameBytes,
		});
	}

	get(id: string): Link | undefined {
		return this.#links.get(id);
	}

	all(): Link[] {
		return [...this.#links.values()];
	}

	/** Called with the living servers, whenever they are known again. */
	update(peers: readonly Peer[]): void {
		if (this.#isClosed) return;
		const id = this.#options.self();
		if (id !== this.#self) {
			this.#self = id;
			for (const link of this.all()) link.close(); // they know this server under its old id
			for (const dialed of [...this.#dialing.keys()]) this.#stopDialing(dialed);
		}
		const others = new Map(peers.filter((peer) => peer.id !== id).map((peer) => [peer.id, peer]));
		for (const dialed of [...this.#dialing.keys()])
			if (!others.has(dialed)) this.#stopDialing(dialed);
		for (const link of this.all()) if (!others.has(link.peer)) link.close();
		for (const peer of others.values()) {
			if (!canDial(peer.address) || this.#dialing.has(peer.id)) continue;
			const dialing: Dialing = { address: peer.address, attempts: 0, isConnecting: false };
			this.#dialing.set(peer.id, dialing);
			if (id < peer.id) this.#dial(peer.id, dialing);
			else this.#dialLater(peer.id, dialing, SECOND_MS);
		}
	}

	accept(request: IncomingMessage, socket: Duplex, head: Buffer): void {
		const { secret } = this.#options;
		socket.on("error", () => socket.destroy());
		const read = readHello(request.headers, secret, this.#options.self());
		if (request.headers.origin !== undefined || !read.ok || this.#isClosed) {
			const status = read.ok ? "403 Forbidden" : read.status;
			refuse(socket, status, read.ok ? "not a server" : read.why);
			return;
		}
		const { hello } = read;
		this.#server.handleUpgrade(request, socket, head, (ws) => {
			const challenge = createChallenge(secret, hello);
			const timer = setTimeout(() => ws.terminate(), HANDSHAKE_MS);
			ws.on("error", () => ws.terminate());
			ws.once("close", () => clearTimeout(timer));
			ws.once("message", (data) => {
				clearTimeout(timer);
				const isKnown = isAnswered(secret, hello, challenge, String(data));
				if (isKnown && !this.#isClosed) this.#add(ws, socket, hello.from, hello.from);
				else ws.terminate();
			});
			ws.send(JSON.stringify(challenge));
		});
	}

	close(): void {
		this.#isClosed = true;
		for (const id of [...this.#dialing.keys()]) this.#stopDialing(id);
		for (const link of this.all()) link.close();
	}

	/** If both dialed at once, the link of the smaller id stays. Otherwise the newest counts: the older one may be dead. */
	#add(ws: WebSocket, socket: Duplex, peer: string, dialer: string): void {
		const known = this.#links.get(peer);
		const first = peer < this.#self ? peer : this.#self;
		if (known?.isOpen && known.dialer === first && dialer !== first) {
			ws.terminate();
			return;
		}
		known?.close();
		const link = new Link({ peer, dialer }, ws, socket, this.#options.limits);
		this.#links.set(peer, link);
		this.#options.onLink(link);
	}

	/** Called by the owner of the links when one is closed. */
	remove(link: Link): void {
		if (this.#links.get(link.peer) === link) this.#links.delete(link.peer);
		const dialing = this.#dialing.get(link.peer);
		if (dialing && !dialing.isConnecting) this.#retry(link.peer, dialing);
	}

	#dial(id: string, dialing: Dialing): void {
		if (this.#links.get(id)?.isOpen || this.#isClosed) return;
		const { secret, allowsPlain, maxFrameBytes } = this.#options;
		const fault = addressFault(dialing.address, allowsPlain);
		if (fault !== undefined) {
			this.#options.warn(`cannot link to ${dialing.address}: ${fault}`);
			return;
		}
		const hello = createHello(secret, this.#options.self(), id);
		dialing.isConnecting = true;
		const ws = new WebSocket(linkUrl(dialing.address), {
			headers: helloHeaders(hello),
			handshakeTimeout: HANDSHAKE_MS,
			perMessageDeflate: false,
			skipUTF8Validation: true,
			maxPayload: maxFrameBytes,
		});
		let socket: Duplex | undefined;
		const fail = (why: string) => {
			if (!dialing.isConnecting) return;
			dialing.isConnecting = false;
			clearTimeout(timer);
			ws.terminate();
			if (why !== "") this.#complain(dialing, `cannot link to ${dialing.address}: ${why}`);
			this.#retry(id, dialing);
		};
		const timer = setTimeout(() => fail("no answer"), 2 * HANDSHAKE_MS);
		ws.on("error", (error) => fail(error.message));
		ws.on("close", () => fail(""));
		ws.on("unexpected-response", (_, response) => {
			readRefusal(response).then(fail, () => fail(""));
		});
		ws.on("upgrade", (response) => {
			socket = response.socket;
		});
		ws.once("message", (data) => {
			const answer = challengeIn(String(data));
			const reply = answer && answerChallenge(secret, hello, answer);
			if (reply === undefined || !socket || this.#dialing.get(id) !== dialing)
				return fail("it does not have the cluster secret");
			clearTimeout(timer);
			dialing.isConnecting = false;
			dialing.attempts = 0;
			delete dialing.complaint;
			ws.send(reply);
			this.#add(ws, socket, id, hello.from);
		});
	}

	#retry(id: string, dialing: Dialing): void {
		if (this.#isClosed || this.#dialing.get(id) !== dialing) return;
		const ms = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** dialing.attempts++);
		this.#dialLater(id, dialing, ms * (0.5 + Math.random() / 2));
	}

	#dialLater(id: string, dialing: Dialing, ms: number): void {
		clearTimeout(dialing.timer);
		dialing.timer = setTimeout(() => this.#dial(id, dialing), ms).unref();
	}

	#stopDialing(id: string): void {
		clearTimeout(this.#dialing.get(id)?.timer);
		this.#dialing.delete(id);
	}

	#complain(dialing: Dialing, line: string): void {
		// The first attempt may come before the other server listens.
		if (dialing.complaint === line || dialing.attempts < 3) return;
		dialing.complaint = line;
		this.#options.warn(line);
	}
}

function canDial(address: string): boolean {
	return /^(ws|http)s?:\/\//.test(address);
}

/** Why no link may be opened to the address. */
export function addressFault(address: string, allowsPlain: boolean): string | undefined {
	if (!URL.canParse(address)) return "this is not an address";
	const { protocol, hostname } = new URL(address);
	const isPlain = protocol === "ws:" || protocol === "http:";
	if (!isPlain || allowsPlain || isLoopback(hostname)) return undefined;
	return "links to other machines need TLS; advertise a wss: address, or allow plain ones with --plain-links";
}

function linkUrl(address: string): string {
	const url = new URL(address);
	url.protocol = url.protocol.replace("http", "ws");
	url.pathname = `${url.pathname.replace(/\/$/, "")}${LINK_PATH}`;
	url.search = "";
	url.hash = "";
	return url.href;
}

/** The other server says why it refuses. What stands there instead, such as a proxy, may say anything. */
async function readRefusal(response: IncomingMessage): Promise<string> {
	let text = "";
	for await (const chunk of response.setEncoding("utf8")) {
		text += chunk;
		if (text.length > MAX_REFUSAL) break;
	}
	const why = text
		.slice(0, MAX_REFUSAL)
		.replaceAll(/[^\x20-\x7e]+/g, " ")
		.trim();
	return `it answers ${response.statusCode}: ${why}`;
}

function challengeIn(text: string): Challenge | undefined {
	try {
		const { nonce, proof } = JSON.parse(text);
		return typeof nonce === "string" && typeof proof === "string" ? { nonce, proof } : undefined;
	} catch {
		return undefined;
	}
}

function refuse(socket: Duplex, status: string, why: string): void {
	const body = `${why}\n`;
	socket.end(
		`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
	);
	socket.once("finish", () => socket.destroy());
}
