import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import type { Data } from "../../../src/protocol/index.ts";
import type { Random } from "../../readcache/law/random.ts";
import type { Cluster } from "./cluster.ts";

export type Frame = Data<"ServerMessage">;
type Answer = Extract<Frame, { type: "response" }>;

const CONNECT_MS = 1_500;
const ANSWER_MS = 3_000;
const RETRY_MS = 40;
/** Attempts that are kept for a complaint. */
const TRAIL = 8;

/** Failures that say nothing about the command: it is sent again under its id. */
export const PASSING = new Set(["busy", "journal_unavailable", "not_durable", "shutting_down"]);

/** One principal's way to any server. Repeats what was not answered, at another server perhaps. */
export class ClusterClient {
	readonly #cluster: Cluster;
	readonly #token: string;
	readonly #random: Random;
	readonly #sockets = new Map<string, Promise<WebSocket | undefined>>();
	readonly #waiting = new Map<string, (answer: Answer | undefined) => void>();
	onFrame: (frame: Frame, address: string) => void = () => {};
	onClose: (address: string) => void = () => {};
	#number = 0;
	/** What the last command got, attempt by attempt. */
	trail: readonly string[] = [];

	constructor(cluster: Cluster, principal: string, random: Random) {
		this.#cluster = cluster;
		this.#token = cluster.tokens.get(principal) ?? "";
		this.#random = random;
	}

	/** Repeats the command until its outcome is known, or `isOver`. */
	async settle(
		command: { type: string; id: string; sessionId?: string; [field: string]: unknown },
		isOver: () => boolean,
	): Promise<{ answer: Answer; address: string } | undefined> {
		const trail: string[] = [];
		this.trail = trail;
		while (!isOver()) {
			const address = this.anyServer();
			const sentMs = performance.now();
			const answer = address && (await this.ask(address, command));
			const got = answer ? (answer.error ?? "an answer") : "no answer";
			trail.push(`${address}: ${got} after ${Math.round(performance.now() - sentMs)} ms`);
			if (trail.length > TRAIL) trail.shift();
			if (answer && !PASSING.has(answer.code ?? "")) return { answer, address };
			await sleep(RETRY_MS);
		}
		return undefined;
	}

	/** Any living server: each one takes any client. */
	anyServer(): string | undefined {
		const living = this.#cluster.servers.flatMap(({ address }) => address ?? []);
		return living.length === 0 ? undefined : this.#random.pick(living);
	}

	/** `undefined` without an answer in time. */
	async ask(
		address: string,
		command: { type: string; id?: string; [field: string]: unknown },
	): Promise<Answer | undefined> {
		const socket = await this.#connect(address);
		if (!socket) return undefined;
		const id = command.id ?? `ask-${++this.#number}`;
		const key = `${address} ${id}`;
		return new Promise((resolve) => {
			const timer = setTimeout(() => settle(undefined), ANSWER_MS);
			const settle = (answer: Answer | undefined) => {
				clearTimeout(timer);
				this.#waiting.delete(key);
				resolve(answer);
			};
			this.#waiting.set(key, settle);
			socket.send(JSON.stringify({ ...command, id }));
		});
	}

	close(): void {
		for (const one of this.#sockets.values()) void one.then((socket) => socket?.terminate());
	}

	#connect(address: string): Promise<WebSocket | undefined> {
		const known = this.#sockets.get(address);
		if (known) return known;
		const opening = new Promise<WebSocket | undefined>((resolve) => {
			const socket = new WebSocket(address, {
				headers: { authorization: `Bearer ${this.#token}` },
				handshakeTimeout: CONNECT_MS,
			});
			const end = () => {
				if (this.#sockets.get(address) === opening) this.#sockets.delete(address);
				for (const [key, settle] of this.#waiting)
					if (key.startsWith(`${address} `)) settle(undefined);
				this.onClose(address);
				resolve(undefined);
			};
			socket.on("error", () => socket.terminate());
			socket.on("close", end);
			socket.on("open", () => resolve(socket));
			socket.on("message", (data) => {
				const frame = JSON.parse(String(data)) as Frame;
				if (frame.type === "response") this.#waiting.get(`${address} ${frame.id}`)?.(frame);
				this.onFrame(frame, address);
			});
		});
		this.#sockets.set(address, opening);
		return opening;
	}
}
