import type {
	AdmittedCommand,
	KeyScope,
	StoredCommand,
	StreamEvent,
	StreamName,
} from "./journal.ts";
import type { OwnerChange } from "./messages.ts";

/**
 * What lookups must see though the disk does not have it yet: commands under way, outcomes, owners and events on their
 * way, and streams whose end is.
 */
export class Unwritten {
	/** By principal and id. */
	readonly #commands = new Map<string, Map<string, StoredCommand>>();
	readonly #byKey = new Map<string, StoredCommand>();
	/** By conversation. */
	readonly #owners = new Map<string, OwnerChange>();
	/** By stream and number, in order. */
	readonly #events = new Map<string, Map<number, StreamEvent>>();
	/** Streams of which removals are on their way, how many, and the number that the last of them ends with. */
	readonly #ending = new Map<string, { count: number; last: number }>();

	/** A command is under way until {@link finish}. */
	admit(command: AdmittedCommand): void {
		this.#put(command);
	}

	/** The admission was refused: there is no such command. */
	dismiss(command: AdmittedCommand): void {
		this.#take(command.principal, command.id);
	}

	/** The first outcome stays. Returns whether this is it. */
	finish(command: StoredCommand): boolean {
		if (this.command(command.principal, command.id)?.response) return false;
		this.#put(command);
		const key = command.idempotencyKey;
		if (key === undefined) return true;
		const name = keyName(keyScope(command), key);
		if (!this.#byKey.has(name)) this.#byKey.set(name, command);
		return true;
	}

	/** The outcome is on disk, or given up. */
	forget(command: StoredCommand): void {
		if (this.command(command.principal, command.id) !== command) return;
		this.#take(command.principal, command.id);
		const key = command.idempotencyKey;
		if (key === undefined) return;
		const name = keyName(keyScope(command), key);
		if (this.#byKey.get(name) === command) this.#byKey.delete(name);
	}

	command(principal: string, id: string): StoredCommand | undefined {
		return this.#commands.get(principal)?.get(id);
	}

	byKey(scope: KeyScope, key: string): StoredCommand | undefined {
		return this.#byKey.get(keyName(scope, key));
	}

	/** The principal's commands, in no order. */
	commandsOf(principal: string): StoredCommand[] {
		return [...(this.#commands.get(principal)?.values() ?? [])];
	}

	/** A conversation is taken or given up. Who takes it first has it. */
	changeOwner(change: OwnerChange): void {
		const known = this.#owners.get(change.conversation);
		if (known?.owns && known.principal !== change.principal) return;
		this.#owners.set(change.conversation, change);
	}

	/** The change is on disk, or given up. */
	forgetOwner(change: OwnerChange): void {
		if (this.#owners.get(change.conversation) !== change) return;
		this.#owners.delete(change.conversation);
	}

	/** Whose a conversation is that the disk says is `onDisk`'s. */
	owner(conversation: string, onDisk: string | undefined): string | undefined {
		const change = this.#owners.get(conversation);
		if (change?.owns) return onDisk ?? change.principal;
		return onDisk === change?.principal ? undefined : onDisk;
	}

	append(event: StreamEvent): void {
		const name = streamName(event);
		const events = this.#events.get(name);
		if (events) events.set(event.seq, event);
		else this.#events.set(name, new Map([[event.seq, event]]));
	}

	/** The event is on disk, or given up. */
	forgetEvent(event: StreamEvent): void {
		const name = streamName(event);
		const events = this.#events.get(name);
		// Of a stream that has ended meanwhile, another event may have this number.
		if (events?.get(event.seq) === event) events.delete(event.seq);
		if (events?.size === 0) this.#events.delete(name);
	}

	events(stream: StreamName): StreamEvent[] {
		return [...(this.#events.get(streamName(stream))?.values() ?? [])];
	}

	/**
	 * The session is gone with its events and the keys of commands that are over; what the disk has of them counts no more,
	 * and the next number is above `last`.
	 */
	endStream(stream: StreamName, last: number): void {
		const name = streamName(stream);
		this.#events.delete(name);
		for (const [key, { principal, keySessionId }] of this.#byKey) {
			const isOfSession = principal === stream.principal && keySessionId === stream.sessionId;
			if (isOfSession) this.#byKey.delete(key);
		}
		this.#ending.set(name, { count: (this.#ending.get(name)?.count ?? 0) + 1, last });
	}

	/** The end of the stream is on disk, or given up. */
	streamEnded(stream: StreamName): void {
		const name = streamName(stream);
		const ending = this.#ending.get(name);
		if (ending && ending.count > 1) ending.count--;
		else this.#ending.delete(name);
	}

	/** The number that a stream ends with whose end is on its way. */
	ending(stream: StreamName): number | undefined {
		return this.#ending.get(streamName(stream))?.last;
	}

	#put(command: StoredCommand): void {
		const commands = this.#commands.get(command.principal);
		if (commands) commands.set(command.id, command);
		else this.#commands.set(command.principal, new Map([[command.id, command]]));
	}

	#take(principal: string, id: string): void {
		const commands = this.#commands.get(principal);
		commands?.delete(id);
		if (commands?.size === 0) this.#commands.delete(principal);
	}
}

function keyScope({ principal, keySessionId }: AdmittedCommand): KeyScope {
	return keySessionId === undefined ? { principal } : { principal, sessionId: keySessionId };
}

function keyName({ principal, sessionId }: KeyScope, key: string): string {
	return JSON.stringify([principal, sessionId ?? null, key]);
}

function streamName({ principal, sessionId }: StreamName): string {
	return JSON.stringify([principal, sessionId]);
}
