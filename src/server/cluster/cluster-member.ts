import { existsSync } from "node:fs";
import type { SessionRecord } from "../journal/journal.ts";
import type { LocatedSession } from "../journal/postgres/claims.ts";
import { DEFAULT_LEASE, type Lease, type NodeRow } from "../journal/postgres/lease.ts";
import type { DatabaseOptions } from "../options.ts";
import { Cluster, type ClusterOptions } from "./cluster.ts";
import { covers, type Server } from "./placement.ts";
import { loadSecret } from "./secret.ts";

/** What the servers share. */
interface SharedJournal {
	readonly nodeId: string;
	readonly lease: Pick<Lease, "renew">;
	locate: ClusterOptions["locate"];
	sessionsOf(principal: string): Promise<LocatedSession[]>;
	countElsewhere(principal: string): Promise<number>;
	clusterSecret(proposed: string): Promise<string>;
}

/** A server's part in a cluster, before and after its journal is open. */
export class ClusterMember {
	readonly #options: DatabaseOptions;
	readonly #maxSessions: number;
	readonly #sampleProjects: string;
	#nodes: readonly NodeRow[] = [];
	#cluster: Cluster | undefined;
	#isLeaving = false;
	/** How many sessions this server has. */
	count: () => number = () => 0;

	constructor(
		options: DatabaseOptions,
		given: { readonly maxSessions: number; readonly sampleProjects: string },
	) {
		this.#options = options;
		this.#maxSessions = given.maxSessions;
		this.#sampleProjects = given.sampleProjects;
	}

	/** Folders whose sessions this server takes. Empty: all. Those of its sample projects are always among them. */
	get #workspaces(): readonly string[] {
		const { workspaces = [] } = this.#options;
		return workspaces.length === 0 ? [] : [...workspaces, this.#sampleProjects];
	}

	/** Where a session without a folder starts: parked, it must be in one that a server takes. */
	startFolder(given: string | undefined): string | undefined {
		const { workspaces = [] } = this.#options;
		const isCovered = given !== undefined && covers(workspaces, given);
		return isCovered ? given : (workspaces[0] ?? given);
	}

	/** JSON that each renewal of the lease publishes to the other servers. */
	about(): string {
		const sessions = this.count();
		const { takesNoSessions = false } = this.#options;
		const workspaces = this.#workspaces;
		const takesSessions = !takesNoSessions && !this.#isLeaving;
		const room = this.#maxSessions - sessions;
		return JSON.stringify({ workspaces, takesSessions, room, sessions } satisfies About);
	}

	onNodes(nodes: readonly NodeRow[]): void {
		this.#nodes = nodes;
		this.#cluster?.update(nodes.map(serverOf));
	}

	/** Whether this server can run a session that no other has. */
	accepts({ cwd }: SessionRecord): boolean {
		const { takesNoSessions = false } = this.#options;
		if (takesNoSessions || this.#isLeaving || !covers(this.#workspaces, cwd)) return false;
		return this.count() < this.#maxSessions && existsSync(cwd);
	}

	async join(
		shared: SharedJournal,
		options: Omit<
			ClusterOptions,
			"secret" | "self" | "leaseMs" | "allowsPlain" | "locate" | "refresh"
		>,
	): Promise<Cluster> {
		const { secretFile, leaseMs = DEFAULT_LEASE.leaseMs, allowsPlainLinks } = this.#options;
		const cluster = new Cluster({
			...options,
			secret: await loadSecret(secretFile, (proposed) => shared.clusterSecret(proposed)),
			self: () => shared.nodeId,
			leaseMs,
			allowsPlain: allowsPlainLinks === true,
			locate: (name) => shared.locate(name),
			refresh: () => void shared.lease.renew(),
		});
		this.#cluster = cluster;
		cluster.update(this.#nodes.map(serverOf));
		await shared.lease.renew(); // brings the others
		return cluster;
	}

	/** From now on, the others place nothing here. */
	leave(shared: SharedJournal): void {
		this.#isLeaving = true;
		void shared.lease.renew();
	}
}

interface About extends Pick<Server, "workspaces" | "takesSessions" | "room" | "sessions"> {}

/** A row of another version may lack something. */
function serverOf({ id, home, address, about }: NodeRow): Server {
	let given: Partial<About> = {};
	try {
		given = JSON.parse(about);
	} catch {
		// The defaults below apply.
	}
	const { workspaces = [], takesSessions = true, room = 1, sessions = 0 } = given;
	return { id, home, address, workspaces, takesSessions, room, sessions };
}
