/** What all connections of a server hold of frames of which the rest has not come yet. */
export interface InboxPool {
	/** The member holds so many bytes now. If that is too much in all, some are told to give up. */
	hold(member: InboxMember, bytes: number): void;
}

/** A connection as the pool sees it. */
export interface InboxMember {
	readonly principal: string;
	/** Ends the connection, and what it holds with it. */
	giveUp(why: string): void;
}

/** What fits into one read of a socket is not counted: nearly all frames do, and cost nothing here. */
const SMALL_BYTES = 65_536;

/**
 * At most `maxBytes` are held. Beyond that the principal that holds most loses the connection with most of it: whoever
 * begins many frames and ends none loses its own, not the one large frame of somebody else.
 */
export function createInboxPool(maxBytes: number): InboxPool {
	const held = new Map<InboxMember, number>();
	let total = 0;

	function set(member: InboxMember, bytes: number): void {
		const before = held.get(member) ?? 0;
		if (bytes === before) return;
		total += bytes - before;
		if (bytes > 0) held.set(member, bytes);
		else held.delete(member);
	}

	/** Only looked for when there is too much, so it need not be quick. */
	function greediest(): InboxMember | undefined {
		const byPrincipal = new Map<string, number>();
		for (const [{ principal }, bytes] of held) {
			byPrincipal.set(principal, (byPrincipal.get(principal) ?? 0) + bytes);
		}
		const rank = ([member, bytes]: [InboxMember, number]) =>
			[byPrincipal.get(member.principal) ?? 0, bytes] as const;
		let found: [InboxMember, number] | undefined;
		for (const entry of held) {
			const [sum, bytes] = rank(entry);
			const [mostSum, mostBytes] = found ? rank(found) : [-1, -1];
			if (sum > mostSum || (sum === mostSum && bytes > mostBytes)) found = entry;
		}
		return found?.[0];
	}

	return {
		hold(member, bytes) {
			set(member, bytes > SMALL_BYTES ? bytes : 0);
			while (total > maxBytes) {
				const victim = greediest();
				if (!victim) return;
				set(victim, 0);
				victim.giveUp("the server has no room for more unfinished frames");
			}
		},
	};
}
