import type { StreamName } from "../journal.ts";
import type { Node } from "./claims.ts";
import { type Held, HeldSessions, newId } from "./held.ts";

interface MembershipOptions {
	readonly home: string;
	readonly address: string;
	/** Registers the node in the database. Rejects if that is unreachable. */
	register(node: Node): Promise<void>;
	/** Called with sessions that another process has now. */
	onLost(lost: readonly Held[]): void;
}

/** This process among the servers: the node that the others know, and the sessions that it holds. */
export class Membership {
	readonly #options: MembershipOptions;
	readonly held = new HeldSessions();
	readonly counters = { lost: 0, buried: 0 };
	node: Node;
	/** No new node after a burial. */
	isOver = false;
	#comingBack: Promise<void> | undefined;
	readonly #listeners: ((names: readonly StreamName[]) => void)[] = [];

	constructor(options: MembershipOptions) {
		const { home, address } = options;
		this.#options = options;
		this.node = { id: newId(), home, address };
	}

	onLost(listener: (names: readonly StreamName[]) => void): void {
		this.#listeners.push(listener);
	}

	/** The right to write for a session; `undefined` if no process has claimed it here. A lost name may be opened again. */
	rightOf(name: StreamName, isOpened: boolean): Held | "lost" | undefined {
		return this.held.get(name) ?? (this.held.isLost(name) && !isOpened ? "lost" : undefined);
	}

	/** Notifies listeners before the records are refused, so that these can report the reason. */
	lose(all: readonly Held[]): void {
		const lost = this.held.lose(all);
		if (lost.length === 0) return;
		this.counters.lost += lost.length;
		this.#options.onLost(lost);
		const names = lost.map(({ principal, sessionId }) => ({ principal, sessionId }));
		for (const listener of this.#listeners) listener(names);
	}

	/** The lease and the writer may both find out about a burial. Sessions that were claimed since stay. */
	async comeBack(buried: string): Promise<void> {
		if (this.isOver) return;
		if (buried === this.node.id) {
			this.#comingBack ??= this.#beginAgain().finally(() => {
				this.#comingBack = undefined;
			});
		}
		await this.#comingBack;
	}

	/** The others gave this process up: its sessions are theirs to take, and it begins again under a new id. */
	async #beginAgain(): Promise<void> {
		this.counters.buried++;
		this.lose(this.held.all());
		this.node = { ...this.node, id: newId() };
		// If it fails, the next renewal finds that the node is missing, and calls this again.
		await this.#options.register(this.node).catch(() => {});
	}
}
