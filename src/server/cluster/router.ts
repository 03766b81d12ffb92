import { randomUUID } from "node:crypto";
import { getOrAdd } from "../../core/get-or-add.ts";
import type { Engine } from "../engine/engine.ts";
import * as failures from "../engine/failures.ts";
import { readFrame } from "../engine/frame.ts";
import { type Client, Message } from "../engine/message.ts";
import { type Failure, failureResponse, type Moved } from "../engine/outcome.ts";
import type { CommandName, Journal, StreamName } from "../journal/journal.ts";
import { streamKey } from "../journal/uncommitted.ts";
import type { EngineLimits } from "../limits.ts";
import { Accounts } from "./accounts.ts";
import { CommandsInFlight } from "./commands-in-flight.ts";
import { type FindPlaceOptions, findPlace, noteRefusal, type Place } from "./find-place.ts";
import type { Link } from "./link.ts";
import {
	commandHead,
	createRoute,
	creationIn,
	enqueue,
	isBusy,
	isIdle,
	type Route,
	type RoutedCommand,
	sessionToRoute,
	type ValidFrame,
} from "./routes.ts";

interface RouterOptions extends Omit<FindPlaceOptions, "isLinked"> {
	readonly engine: Pick<
		Engine,
		"connect" | "receive" | "whenAnswered" | "disconnect" | "holds" | "claim" | "isStopping"
	>;
	readonly journal: Pick<Journal, "find">;
	link(id: string): Link | undefined;
	readonly limits: EngineLimits;
	/** A client came or left. */
	onClients(client: Client): void;
}

/** Routes are kept although nothing is in flight, so that the next command need not ask where its session is. */
const MAX_ROUTES = 10_000;
const FIRST_RETRY_MS = 10;
const LAST_RETRY_MS = 500;
const BUSY_RETRY_MS = 300;
const CHECK_MS = 1_000;
/** A read that lost its server this often is not sent again. */
const MAX_LOSSES = 3;

/**
 * Stands between clients and the engine. A command for a session of another server is sent there, and its response
 * comes back. What was not answered is sent again, in order and under its id, to the next owner, which knows by the
 * journal what has run.
 */
export class Router {
	readonly #options: RouterOptions;
	readonly #places: FindPlaceOptions;
	readonly #accounts: Accounts;
	readonly #routes = new Map<string, Route>();
	readonly #commands: CommandsInFlight;
	readonly #sent = new Map<number, RoutedCommand>();
	readonly #asks = new Map<number, (json: string) => void>();
	readonly #checks: NodeJS.Timeout;
	#numbers = 0;
	readonly #id = randomUUID();
	/** Commands that were sent to other servers, and those that were sent again. */
	readonly counters = { forwarded: 0, resent: 0 };

	constructor(options: RouterOptions) {
		this.#options = options;
		this.#places = { ...options, isLinked: (id) => options.link(id)?.isOpen === true };
		this.#accounts = new Accounts(options.limits);
		this.#commands = new CommandsInFlight({
			journal: options.journal,
			maxMs: options.limits.dependencyMs,
			isHere: ({ route }) => route.queue.length === 0 && this.#isHere(route),
			onUnblocked: ({ route }) => this.#pump(route),
		});
		this.#checks = setInterval(() => this.#check(), CHECK_MS).unref();
	}

	connect(client: Client): void {
		this.#options.engine.connect(client);
		this.#options.onClients(client);
	}

	/** `reply` takes the response instead of the client. */
	receive(client: Client, bytes: string | Uint8Array, reply?: (message: Message) => void): void {
		const { engine, limits } = this.#options;
		const frame = readFrame(bytes, limits.maxFrameBytes);
		if (!frame.ok) {
			engine.receive(client, bytes, { frame, moved: () => {} });
			return;
		}
		const { principal } = client;
		const { dependsOn } = frame.command;
		const route = this.#routeOf(principal, frame);
		const command: RoutedCommand = {
			number: ++this.#numbers,
			client,
			bytes,
			frame,
			route,
			reply,
			account: undefined,
			sends: 0,
			losses: 0,
			waitsSince: performance.now(),
			waitsFor: undefined,
			dependents: undefined,
		};
		if (dependsOn) this.#commands.holdBack(command, dependsOn);
		const isNext = route.queue.length === 0 && !command.waitsFor;
		const runsNow = isNext && this.#isHere(route);
		if (!runsNow) {
			const refusal = this.#accounts.refusal(client, bytes.length, route.lastPlace);
			if (refusal) {
				this.#refuse(command, refusal);
				return;
			}
		}
		this.#commands.add(command);
		if (runsNow) {
			this.#run(command);
			return;
		}
		route.queue.push(command);
		this.#accounts.hold(command);
		this.#pump(route);
	}

	async whenAnswered(client: Client): Promise<void> {
		await this.#accounts.whenAnswered(client);
		await this.#options.engine.whenAnswered(client);
	}

	/** What was not sent yet is dropped: the client repeats it on its next connection. */
	disconnect(client: Client): void {
		this.#options.engine.disconnect(client);
		const own = [...this.#routes.values()].flatMap(({ queue }) =>
			queue.filter((one) => one.client === client),
		);
		// All before the first ends: what depends on it must not go without it.
		for (const command of own) command.route.queue.splice(command.route.queue.indexOf(command), 1);
		for (const command of own) this.#end(command);
		// Others' commands may have waited behind them.
		for (const route of new Set(own.map((command) => command.route))) this.#pump(route);
		this.#options.onClients(client);
	}

	/** Asks one server, which answers for itself. Resolves to `undefined` without an answer in time. */
	ask(link: Link, client: Client, command: object, ms: number): Promise<string | undefined> {
		const number = ++this.#numbers;
		const { promise, resolve } = Promise.withResolvers<string | undefined>();
		const timer = setTimeout(() => resolve(undefined), ms);
		this.#asks.set(number, resolve);
		link.send("command", commandHead(number, client), JSON.stringify(command));
		return promise.finally(() => {
			clearTimeout(timer);
			this.#asks.delete(number);
		});
	}

	onResponse(link: Link, number: number, json: string): void {
		this.#asks.get(number)?.(json);
		const command = this.#takeSent(link, number);
		if (!command) return;
		const { route } = command;
		// It may have run before, in spite of this refusal.
		if (command.sends > 1 && isBusy(json)) this.#takeBack(command, BUSY_RETRY_MS);
		else {
			route.attempts = 0;
			this.#respond(command, Message.fromJson(json));
			this.#pump(route);
		}
	}

	/** The other server cannot run the command. */
	onMoved(link: Link, number: number, why: Moved): void {
		const command = this.#takeSent(link, number);
		if (command) this.#moved(command, why, link.peer);
	}

	onLink(): void {
		for (const route of [...this.#routes.values()]) if (route.queue.length > 0) this.#retry(route);
	}

	/** What the server did not answer goes to the next owner. */
	onLinkClosed(link: Link): void {
		for (const route of [...this.#routes.values()]) {
			if (route.place === link.peer) route.place = undefined;
			if (route.sentTo !== link.peer) continue;
			for (const number of [...route.sent.keys()]) {
				const command = this.#takeSent(link, number);
				if (!command) continue;
				// It may be what ends the servers: one after the other would go down with it. A change is recorded instead.
				const isTooOften = ++command.losses >= MAX_LOSSES && command.frame.row.effect === "read";
				if (isTooOften) this.#refuse(command, failures.ownerTimeout(false));
				else this.#takeBack(command, 0);
			}
			this.#pump(route);
		}
	}

	/** The server has given these sessions up. */
	onReleased(link: Link, names: readonly StreamName[]): void {
		for (const name of names) {
			const route = this.#routes.get(streamKey(name));
			if (!route) continue;
			if (route.place === link.peer) route.place = undefined;
			if (route.queue.length > 0) this.#retry(route);
		}
	}

	get pending(): number {
		return this.#accounts.pending;
	}

	close(): void {
		clearInterval(this.#checks);
		for (const { timer } of this.#routes.values()) clearTimeout(timer);
	}

	/** A route by session, or the one for commands that this server runs. */
	#routeOf(principal: string, { command, row }: ValidFrame): Route {
		const sessionId = sessionToRoute(command, row.target, this.#takesSessions());
		const name = { principal, sessionId: sessionId ?? "" };
		const key = sessionId === undefined ? `\n${principal}` : streamKey(name);
		return getOrAdd(this.#routes, key, () => createRoute(name, sessionId === undefined));
	}

	#takesSessions(): boolean {
		const { servers, self } = this.#options;
		return servers().find(({ id }) => id === self())?.takesSessions !== false;
	}

	#isHere(route: Route): boolean {
		return route.isLocal || (route.sent.size === 0 && this.#options.engine.holds(route.name));
	}

	/** Sends as much of the queue as the order allows. */
	#pump(route: Route): void {
		for (let next = route.queue[0]; next; next = route.queue[0]) {
			if (next.waitsFor?.size) return;
			// What another server has must be answered or come back first.
			if (route.sent.size > 0 && route.sentTo !== route.place) return;
			if (this.#isHere(route)) {
				route.queue.shift();
				this.#run(next);
				continue;
			}
			const link = route.place === undefined ? undefined : this.#options.link(route.place);
			if (!link?.isOpen) {
				this.#resolve(route);
				return;
			}
			route.queue.shift();
			this.#forward(next, link);
		}
		this.#forgetIdle();
	}

	#run(command: RoutedCommand): void {
		const { engine, self } = this.#options;
		const { client, bytes, frame } = command;
		this.#accounts.release(command);
		engine.receive(client, bytes, {
			frame,
			...this.#nameFor(command),
			reply: (message) => this.#respond(command, message),
			moved: (why) => {
				// It may have begun here, so it waits for an owner that can look it up, like a command that was sent.
				if (why === "elsewhere" && frame.row.effect === "change") command.sends ||= 1;
				this.#moved(command, why, self());
			},
		});
	}

	#forward(command: RoutedCommand, link: Link): void {
		const { client, bytes, route, number } = command;
		route.sent.set(number, command);
		route.sentTo = link.peer;
		this.#sent.set(number, command);
		if (command.sends++ > 0) this.counters.resent++;
		this.counters.forwarded++;
		const head = commandHead(number, client, this.#nameFor(command)?.commandId);
		link.send(
			"command",
			head,
			typeof bytes === "string" ? bytes : Buffer.from(bytes).toString("utf8"),
		);
	}

	/** Under it, the journal knows a change without an id when it is sent again. */
	#nameFor({ number, frame }: RoutedCommand): { commandId: string } | undefined {
		if (frame.command.id !== undefined || frame.row.effect !== "change") return undefined;
		return { commandId: `anon:${this.#id}:${number}` };
	}

	#takeSent({ peer }: Link, number: number): RoutedCommand | undefined {
		const command = this.#sent.get(number);
		if (command?.route.sentTo !== peer) return undefined;
		this.#sent.delete(number);
		command.route.sent.delete(number);
		return command;
	}

	#moved(command: RoutedCommand, why: Moved, by: string): void {
		const { route } = command;
		if (route.place === by) route.place = undefined;
		if (why === "refused") noteRefusal(route, by);
		this.#takeBack(command, retryMs(route.attempts++));
	}

	#takeBack(command: RoutedCommand, afterMs: number): void {
		if (command.client.gone) {
			this.#end(command);
			this.#pumpLater(command.route, afterMs);
			return;
		}
		command.waitsSince = performance.now();
		this.#accounts.hold(command);
		enqueue(command.route, command);
		if (afterMs > 0) this.#pumpLater(command.route, afterMs);
	}

	#pumpLater(route: Route, ms: number): void {
		route.timer ??= setTimeout(() => {
			route.timer = undefined;
			this.#pump(route);
		}, ms);
	}

	#retry(route: Route): void {
		clearTimeout(route.timer);
		route.timer = undefined;
		route.attempts = 0;
		this.#pump(route);
	}

	#resolve(route: Route): void {
		if (route.isResolving || route.timer) return;
		route.isResolving = true;
		findPlace(route, this.#places)
			.catch((error: unknown): Place => {
				return { kind: "nowhere", failure: failures.notClaimed(error) };
			})
			.then((place) => {
				route.isResolving = false;
				this.#use(route, place);
			});
	}

	#use(route: Route, place: Place): void {
		if (place.kind === "there") {
			route.place = place.id;
			route.lastPlace = place.id;
			this.#pump(route);
		} else if (place.kind === "later") {
			const { withinMs = LAST_RETRY_MS } = place;
			this.#pumpLater(route, Math.min(retryMs(route.attempts++), withinMs));
		} else if (place.kind === "nowhere") {
			void this.#refuseNew(route, place.failure);
		} else {
			// Without a session, the engine refuses. Creations are placed one by one.
			const isNew = creationIn(route) !== undefined;
			for (let next = route.queue[0]; next && !next.waitsFor?.size; next = route.queue[0]) {
				if ((creationIn(route) !== undefined) !== isNew) break;
				route.queue.shift();
				this.#run(next);
			}
			this.#pump(route);
		}
	}

	/** What was sent, here or by another server, may have had an effect, so it waits for an owner that knows. */
	async #refuseNew(route: Route, failure: Failure): Promise<void> {
		const unsent = route.queue.filter(({ sends }) => sends === 0);
		const names = unsent.map(({ client, frame }) => {
			return { principal: client.principal, id: frame.command.id ?? "" };
		});
		route.isResolving = true;
		const asks = failure.code === "wrong_state"; // other failures do not say that it never ran
		const found = asks ? await this.#known(names) : [];
		route.isResolving = false;
		for (const [index, command] of unsent.entries()) {
			const { command: content, row } = command.frame;
			const isKnown = content.id !== undefined && (!found || found[index] !== undefined);
			const mayWait = row.effect === "change" && isKnown;
			if (!mayWait && route.queue.includes(command)) this.#refuse(command, failure);
		}
		if (route.queue.length > 0) this.#pumpLater(route, LAST_RETRY_MS);
	}

	/** `undefined` if the journal cannot tell. */
	async #known(names: readonly CommandName[]) {
		try {
			return await this.#options.journal.find(names);
		} catch {
			return undefined;
		}
	}

	#refuse(command: RoutedCommand, failure: Failure): void {
		const { queue } = command.route;
		const at = queue.indexOf(command);
		if (at >= 0) queue.splice(at, 1);
		const { id, type } = command.frame.command;
		const response = { ...failureResponse(type, failure), ...(id !== undefined && { id }) };
		this.#respond(command, new Message(response));
	}

	#respond(command: RoutedCommand, message: Message): void {
		const { reply, client } = command;
		if (reply) reply(message);
		else client.send(message);
		this.#end(command);
	}

	#end(command: RoutedCommand): void {
		this.#accounts.release(command);
		this.#commands.remove(command);
	}

	/** Refuses commands whose owner was not found in time. */
	#check(): void {
		const { shortMs, longMs } = this.#options.limits;
		const now = performance.now();
		for (const { queue } of this.#routes.values()) {
			for (const command of [...queue]) {
				const wasSent = command.sends > 0;
				const isLate = now - command.waitsSince > (wasSent ? longMs : shortMs);
				if (isLate && !command.waitsFor?.size)
					this.#refuse(command, failures.ownerTimeout(wasSent));
			}
		}
	}

	#forgetIdle(): void {
		if (this.#routes.size <= MAX_ROUTES) return;
		for (const [key, route] of this.#routes) {
			if (isIdle(route)) this.#routes.delete(key);
			if (this.#routes.size <= MAX_ROUTES / 2) return;
		}
	}
}

function retryMs(attempts: number): number {
	return Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** attempts);
}
