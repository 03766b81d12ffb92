import { getOrAdd } from "../../core/get-or-add.ts";
import * as failures from "../engine/failures.ts";
import type { Client } from "../engine/message.ts";
import type { Failure } from "../engine/outcome.ts";
import type { EngineLimits } from "../limits.ts";
import type { RoutedCommand } from "./routes.ts";

interface Account {
	commands: number;
	bytes: number;
}

/** No server may take more than this share, so that a dead one does not stop commands for the others. */
const SHARE_OF_A_SERVER = 0.5;

/** Counts commands that wait for other servers, or are in flight there. */
export class Accounts {
	readonly #limits: EngineLimits;
	readonly #all: Account = { commands: 0, bytes: 0 };
	readonly #byServer = new Map<string, Account>();
	readonly #byPrincipal = new Map<string, Account>();
	readonly #byClient = new Map<Client, Account>();
	readonly #onAnswered = new Map<Client, (() => void)[]>();

	constructor(limits: EngineLimits) {
		this.#limits = limits;
	}

	get pending(): number {
		return this.#all.commands;
	}

	/** Why one more command cannot wait. */
	refusal(client: Client, bytes: number, server: string): Failure | undefined {
		const limits = this.#limits;
		const { maxPendingPerClient: most } = limits;
		if ((this.#byClient.get(client)?.commands ?? 0) >= most) return failures.tooManyPending(most);
		const isFull = (account: Account | undefined, commands: number, maxBytes: number) =>
			account !== undefined &&
			account.commands > 0 &&
			(account.commands >= commands || account.bytes + bytes > maxBytes);
		const { maxPending, maxPendingBytes } = limits;
		const share = SHARE_OF_A_SERVER;
		const principal = this.#byPrincipal.get(client.principal);
		return isFull(this.#all, maxPending, maxPendingBytes) ||
			isFull(this.#byServer.get(server), maxPending * share, maxPendingBytes * share) ||
			isFull(principal, limits.maxPendingPerPrincipal, limits.maxPendingBytesPerPrincipal)
			? failures.WAITING_FULL
			: undefined;
	}

	hold(command: RoutedCommand): void {
		if (command.account !== undefined) return;
		command.account = command.route.lastPlace;
		this.#count(command, 1);
	}

	release(command: RoutedCommand): void {
		if (command.account === undefined) return;
		this.#count(command, -1);
		command.account = undefined;
		const { client } = command;
		if (this.#byClient.has(client)) return;
		for (const resolve of this.#onAnswered.get(client) ?? []) resolve();
		this.#onAnswered.delete(client);
	}

	/** Resolves when no command of the client is pending on another server. */
	async whenAnswered(client: Client): Promise<void> {
		if (!this.#byClient.has(client)) return;
		await new Promise<void>((resolve) => {
			getOrAdd(this.#onAnswered, client, () => []).push(resolve);
		});
	}

	#count({ client, bytes, account = "" }: RoutedCommand, by: 1 | -1): void {
		const add = <Key>(accounts: Map<Key, Account>, key: Key) => {
			const counted = getOrAdd(accounts, key, () => ({ commands: 0, bytes: 0 }));
			change(counted, by, bytes.length);
			if (counted.commands === 0) accounts.delete(key);
		};
		change(this.#all, by, bytes.length);
		add(this.#byServer, account);
		add(this.#byPrincipal, client.principal);
		add(this.#byClient, client);
	}
}

function change(account: Account, by: 1 | -1, bytes: number): void {
	account.commands += by;
	account.bytes += by * bytes;
}
