import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { fromBytes } from "../../../src/server/journal/postgres/columns.ts";
import type { Safeguard } from "../../../src/server/safeguards.ts";
import { createRandom, type Random } from "../../readcache/law/random.ts";
import { type Cluster, startCluster } from "./cluster.ts";
import { ClusterClient, PASSING } from "./cluster-client.ts";
import type { History, PlayedCommand, SeenAnswer, SeenEvent } from "./history.ts";

export interface RunOptions {
	readonly seed: number;
	readonly ms: number;
	/** A safeguard that is taken out. */
	readonly without?: Safeguard;
	/** Faults and how likely each is. */
	readonly faults?: readonly (readonly [number, Fault])[];
}

export type Fault =
	| "kill"
	| "stop"
	| "long stop"
	| "hang"
	| "cut"
	| "postgres"
	| "hang and kill"
	| "link hang"
	| "link in"
	| "link out"
	| "link cut"
	| "term"
	| "come or go"
	| "none";

/** Faults and how likely each is. */
export const FAULTS: readonly (readonly [number, Fault])[] = [
	[3, "kill"],
	[4, "stop"],
	[3, "hang"],
	[3, "cut"],
	[2, "postgres"],
	[2, "hang and kill"],
	[2, "link hang"],
	[2, "link in"],
	[2, "link out"],
	[3, "link cut"],
	[2, "term"],
	[3, "come or go"],
];
const LINK_MODES = {
	"link hang": "hang",
	"link in": "hang in",
	"link out": "hang out",
	"link cut": "cut",
} as const;
const LEASE_MS = 1_000;
const FOLLOWED = ["s0", "s1"];
/** No client subscribes to the last one, so it is parked between commands. */
const SESSIONS = [...FOLLOWED, "s2"];
const PARK_MS = 150;
const PRINCIPALS = ["ann", "bob"];
/** A start fails while Postgres is away. */
const START_ATTEMPTS = 10;
/** How long a command may go without an outcome when all servers are back: repairs and takeovers are over long before. */
const END_MS = 60_000;
/** An hour ahead, 20 % fast, 20 % slow. The fourth server, which comes and goes, has the right time. */
const CLOCKS = [
	[3_600_000, 1],
	[0, 1.2],
	[0, 0.8],
] as const;

export interface RunReport {
	readonly history: History;
	readonly faults: readonly Fault[];
	readonly complaints: string;
}

/** Three servers, clients of two principals that use the same names, and a nemesis. */
export async function runCluster({
	seed,
	ms,
	without,
	faults = FAULTS,
}: RunOptions): Promise<RunReport> {
	const random = createRandom(seed);
	const cluster = await startCluster({
		servers: 3,
		spares: 1,
		leaseMs: LEASE_MS,
		principals: PRINCIPALS,
		clocks: CLOCKS,
		words: ["--limit", `parkMs=${PARK_MS}`],
		...(without && { without }),
	});
	const commands: PlayedCommand[] = [];
	const events: SeenEvent[] = [];
	const clients: ClusterClient[] = [];
	const client = (principal: string) => {
		const made = new ClusterClient(cluster, principal, random);
		clients.push(made);
		return made;
	};
	const stuck = await createSessions(cluster, client);
	if (stuck) {
		for (const one of clients) one.close();
		const complaints = cluster.servers.map((server) => server.err()).join("");
		await cluster.close();
		const nothing = { events, effects: [], stored: new Map(), conversations: new Map() };
		return { history: { commands: [stuck], ...nothing }, faults: [], complaints };
	}
	const endAt = performance.now() + ms;
	const isOver = () => performance.now() > endAt;
	/** From when all servers are back: on a busy machine a start takes long. */
	let giveUpAt = Number.POSITIVE_INFINITY;
	const isLate = () => performance.now() > giveUpAt;
	const names = PRINCIPALS.flatMap((principal) =>
		SESSIONS.map((session) => ({ principal, session })),
	);
	const followed = names.filter(({ session }) => FOLLOWED.includes(session));
	const following = followed.map((name, index) =>
		follow({ ...name, client: client(name.principal), events, first: index * 100_000, isOver }),
	);
	const playing = names.map((name) =>
		play({ ...name, client: client(name.principal), cluster, random, commands, isOver, isLate }),
	);
	const met = await torment(cluster, random, faults, isOver);
	giveUpAt = performance.now() + END_MS;
	await Promise.all([...playing, ...following]);
	const asked = await askAgain(cluster, commands, client);
	const conversations = await conversationsOf(names, client);
	const stored = await storedEvents(cluster.url);
	const effects = names.flatMap(({ principal, session }) => effectsIn(cluster, principal, session));
	for (const one of clients) one.close();
	const deaths = new Map(cluster.servers.flatMap((server) => [...server.deaths]));
	const complaints = cluster.servers.map((server) => server.err()).join("");
	await cluster.close();
	return {
		history: { commands: asked, events, effects, stored, conversations, deaths },
		faults: met,
		complaints,
	};
}

/** Resolves to a creation that never got an outcome, if there is one. */
async function createSessions(
	cluster: Cluster,
	client: (principal: string) => ClusterClient,
): Promise<PlayedCommand | undefined> {
	for (const principal of PRINCIPALS) {
		const one = client(principal);
		for (const session of SESSIONS) {
			// On a busy machine a server may be given up before any fault: the next attempt has another id.
			for (let attempt = 1; ; attempt++) {
				const [type, id, sentMs] = [
					"create_session",
					`create-${session}-${attempt}`,
					Date.now(),
				] as const;
				const made = await one.settle(
					{ type, id, sessionId: session, cwd: cluster.workspace },
					afterEnd(),
				);
				if (!made) {
					const command = {
						principal,
						session,
						id,
						type,
						word: id,
						sentMs,
						answeredMs: Date.now(),
					};
					return { ...command, isComplete: false, answers: [] };
				}
				const { success, code, error } = made.answer;
				if (success || (attempt > 1 && code === "session_exists")) break;
				if (code !== "interrupted") throw new Error(`no session: ${error}`);
			}
		}
	}
	return undefined;
}

interface Player {
	readonly principal: string;
	readonly session: string;
	readonly client: ClusterClient;
	readonly cluster: Cluster;
	readonly random: Random;
	readonly commands: PlayedCommand[];
	isOver(): boolean;
	isLate(): boolean;
}

/** One command after the other; some are sent to two servers at once, some several at once to one. */
async function play(player: Player): Promise<void> {
	const { principal, session, client, random, commands, isOver, isLate } = player;
	for (let number = 0; !isOver(); number++) {
		if (random.chance(0.2)) await sleep(random.between(0, 3 * PARK_MS));
		if (random.chance(0.15)) {
			await playInARow(player, number);
			continue;
		}
		const id = `${session}-${number}`;
		const word = `${principal}-${id}-end`;
		const type = random.chance(0.5) ? "bash" : "set_session_name";
		const pauseSeconds = random.weighted([
			[5, 0],
			[3, 0.3],
			[2, 4],
		]);
		const file = effectFile(principal, session);
		const fields =
			type === "bash"
				? {
						command: `sleep ${pauseSeconds}; echo ${word} $(date +%s%3N) $PPID >> ${file}; echo ${word}`,
					}
				: { name: `named by ${word}` };
		const command = { type, id, sessionId: session, ...fields };
		const sentMs = Date.now();
		const other = random.chance(0.15) ? client.anyServer() : undefined;
		const copy = other === undefined ? undefined : client.ask(other, command);
		const settled = await client.settle(command, isLate);
		const again = await copy;
		const answers = [settled?.answer, again].flatMap((answer) => seen(answer) ?? []);
		const { success, data } = settled?.answer ?? {};
		const isComplete =
			success === true && (data as { exitCode?: number } | undefined)?.exitCode === 0;
		const answeredMs = Date.now();
		const lack = success !== true && { lack: client.trail.join("; ") };
		const ids = { principal, session, id, type, word } as const;
		commands.push({ ...ids, sentMs, answeredMs, isComplete, answers, ...lack });
	}
}

/** Commands of one connection, without a wait in between: they take effect in this order. */
async function playInARow(player: Player, number: number): Promise<void> {
	const { principal, session, client, commands, isLate } = player;
	const address = client.anyServer();
	const sentMs = Date.now();
	const row = ["a", "b", "c", "d"].map((letter) => {
		const id = `${session}-${number}${letter}`;
		const word = `${principal}-${id}-end`;
		const type = "set_session_name" as const;
		const command = { type, id, sessionId: session, name: `named by ${word}` };
		return { id, word, command, first: address && client.ask(address, command) };
	});
	let wasSentAgain = false;
	for (const [position, { id, word, command, first }] of row.entries()) {
		const early = (await first) || undefined;
		// From the first one that must be sent again, the order is the client's own affair.
		wasSentAgain ||= seen(early) === undefined;
		const settled = seen(early) ? undefined : await client.settle(command, isLate);
		const answers = [early, settled?.answer].flatMap((answer) => seen(answer) ?? []);
		commands.push({
			principal,
			session,
			id,
			type: command.type,
			word,
			sentMs,
			answeredMs: Date.now(),
			isComplete: false,
			answers,
			...(answers.length === 0 && { lack: client.trail.join("; ") }),
			...(!wasSentAgain && { inARow: { row: `${session}-${number}`, position } }),
		});
	}
}

/** An answer that stands for the outcome. */
function seen(
	answer: { success: boolean; code?: string; sessionVersion?: number } | undefined,
): SeenAnswer | undefined {
	if (!answer) return undefined;
	const { success, code, sessionVersion: version } = answer;
	if (code !== undefined && PASSING.has(code)) return undefined;
	return { success, ...(code && { code }), ...(version !== undefined && { version }) };
}

/** Subscribes to a session, wherever it is, and goes on from the last number it saw. */
async function follow(options: {
	principal: string;
	session: string;
	client: ClusterClient;
	events: SeenEvent[];
	first: number;
	isOver(): boolean;
}): Promise<void> {
	const { principal, session, client, events, first, isOver } = options;
	let last = 0;
	let subscription = first;
	let at: string | undefined;
	client.onFrame = (frame, address) => {
		if (address !== at || !("sessionId" in frame) || frame.sessionId !== session) return;
		if (frame.type === "gap") {
			last = frame.toSeq;
			subscription++;
		}
		if (frame.type !== "event" || frame.seq === undefined) return;
		// Merged deltas stand for several numbers.
		if ("fromSeq" in frame && frame.fromSeq !== frame.seq) {
			last = frame.seq;
			subscription++;
			return;
		}
		last = frame.seq;
		events.push({
			principal,
			session,
			subscription,
			seq: frame.seq,
			body: JSON.stringify(frame.event),
		});
	};
	client.onClose = (address) => {
		if (address === at) at = undefined;
	};
	while (!isOver()) {
		if (at === undefined) {
			const address = client.anyServer();
			if (address !== undefined) {
				subscription++;
				at = address;
				const answer = await client.ask(address, {
					type: "subscribe",
					sessionId: session,
					after: last,
				});
				if (!answer?.success && at === address) at = undefined;
			}
		}
		await sleep(50);
	}
	client.onFrame = () => {};
}

async function torment(
	cluster: Cluster,
	random: Random,
	kinds: readonly (readonly [number, Fault])[],
	isOver: () => boolean,
): Promise<Fault[]> {
	const met: Fault[] = [];
	const pending: Promise<unknown>[] = [];
	const lease = (least: number, most: number) =>
		(random.between(least * 100, most * 100) / 100) * LEASE_MS;
	while (!isOver()) {
		await sleep(random.between(300, 900));
		const fault = random.weighted(kinds);
		const server = random.pick(cluster.servers);
		met.push(fault);
		if (fault === "kill") {
			await server.kill();
			pending.push(sleep(random.between(0, 1_500)).then(() => revive(server)));
		} else if (fault === "stop") pending.push(server.pause(lease(0.3, 3)));
		else if (fault === "long stop") pending.push(server.pause(lease(1.5, 3)));
		else if (fault === "postgres") {
			await cluster.postgres.kill();
			await cluster.postgres.start();
		} else if (fault === "term") {
			await server.kill("SIGTERM");
			pending.push(revive(server));
		} else if (fault === "come or go") {
			const spare = cluster.servers.at(-1) as Cluster["servers"][number];
			if (spare.pid === undefined) pending.push(revive(spare));
			else pending.push(spare.kill("SIGTERM"));
		} else if (isLinkFault(fault)) {
			server.links.set(LINK_MODES[fault]);
			pending.push(sleep(lease(0.2, 2.5)).then(() => server.links.set("pass")));
		} else if (fault === "cut" || fault === "hang") {
			server.proxy.set(fault);
			pending.push(sleep(lease(0.2, 2.5)).then(() => server.proxy.set("pass")));
		} else if (fault === "hang and kill") {
			server.proxy.set("hang");
			await sleep(lease(0.4, 0.9));
			await server.kill();
			// What was held back arrives late, or never.
			if (random.chance(0.7)) server.proxy.set("cut");
			server.proxy.set("pass");
			pending.push(revive(server));
		}
	}
	await Promise.all(pending);
	for (const server of cluster.servers) {
		server.proxy.set("pass");
		server.links.set("pass");
		await revive(server);
	}
	return met;
}

function isLinkFault(fault: Fault): fault is keyof typeof LINK_MODES {
	return fault in LINK_MODES;
}

async function revive(server: Cluster["servers"][number]): Promise<void> {
	for (let attempt = 0; server.address === undefined && attempt < START_ATTEMPTS; attempt++) {
		if (server.pid === undefined) await server.start().catch(() => server.kill());
	}
}

/** Every id again, when all is over: the last word about it. */
async function askAgain(
	cluster: Cluster,
	commands: readonly PlayedCommand[],
	client: (principal: string) => ClusterClient,
): Promise<PlayedCommand[]> {
	const byPrincipal = new Map(PRINCIPALS.map((name) => [name, client(name)]));
	const asked: PlayedCommand[] = [];
	for (const command of commands) {
		const { principal, session, id } = command;
		// Whatever the command was, its fingerprint must be the same: history tells what it became.
		const one = byPrincipal.get(principal) as ClusterClient;
		const found = await one.settle(
			{
				type: "get_command_history",
				id: `history-${id}-${Math.random()}`,
				commandId: id,
				limit: 1,
			},
			afterEnd(),
		);
		const [entry] = (found?.answer.data as { entries?: HistoryEntry[] } | undefined)?.entries ?? [];
		const last =
			entry?.success === undefined ? undefined : seen({ ...entry, success: entry.success });
		const isTold = last !== undefined && command.answers.length > 0;
		const lack = isTold ? "" : await lackOf(cluster, command, entry, one.trail);
		// An answer that the journal does not know is none.
		const answers = last ? [...command.answers, last] : [];
		asked.push({ ...command, session, answers, ...(lack && { lack }) });
	}
	return asked;
}

/** The server that has the command and the one that has its session, and what the client got. */
async function lackOf(
	{ url, servers }: Cluster,
	{ principal, session, id, answers, lack = "" }: PlayedCommand,
	entry: HistoryEntry | undefined,
	trail: readonly string[],
): Promise<string> {
	const rows = await query(
		url,
		`SELECT commands.node = heads.owner AS is_owners, outcome IS NULL AS is_open, address, epoch,
			round(extract(epoch FROM expires_at - clock_timestamp()) * 1000) AS left_ms
		FROM strata.heads
		LEFT JOIN strata.commands ON commands.principal = heads.principal AND commands.id = $3
		LEFT JOIN strata.nodes ON nodes.id = owner
		WHERE heads.principal = $1 AND heads.session = $2`,
		[principal, Buffer.from(session), Buffer.from(id)],
	);
	const now = {
		entry,
		answers,
		rows,
		history: trail,
		servers: servers.map(({ address }) => address),
	};
	return `${lack} ${JSON.stringify(now)}`;
}

async function query(url: string, sql: string, values: readonly unknown[] = []) {
	const database = new pg.Client({ connectionString: url });
	await database.connect();
	try {
		return (await database.query(sql, [...values])).rows;
	} finally {
		await database.end();
	}
}

/** Over when a command has waited too long. */
function afterEnd(): () => boolean {
	const until = performance.now() + END_MS;
	return () => performance.now() > until;
}

interface HistoryEntry {
	readonly success?: boolean;
	readonly code?: string;
	readonly sessionVersion?: number;
}

async function conversationsOf(
	names: readonly { principal: string; session: string }[],
	client: (principal: string) => ClusterClient,
): Promise<Map<string, string>> {
	const conversations = new Map<string, string>();
	for (const { principal, session } of names) {
		const command = { type: "get_entries", id: `entries-${session}`, sessionId: session };
		const found = await client(principal).settle(command, afterEnd());
		if (!found?.answer.success) continue; // the checker misses it
		conversations.set(`${principal} ${session}`, JSON.stringify(found.answer.data));
	}
	return conversations;
}

async function storedEvents(url: string): Promise<Map<string, string>> {
	const rows = await query(
		url,
		`SELECT principal, session, seq, body FROM strata.events JOIN strata.heads ON heads.stream = events.stream`,
	);
	return new Map(
		rows.map(({ principal, session, seq, body }) => [
			`${principal} ${fromBytes(session)} ${seq}`,
			body,
		]),
	);
}

function effectFile(principal: string, session: string): string {
	return `effects-${principal}-${session}`;
}

function effectsIn({ workspace }: Cluster, principal: string, session: string) {
	const path = join(workspace, effectFile(principal, session));
	if (!existsSync(path)) return [];
	return readFileSync(path, "utf8")
		.split("\n")
		.filter((line) => line !== "")
		.map((line) => {
			const [word = "", atMs, pid] = line.split(" ");
			return { word, atMs: Number(atMs), pid: Number(pid) };
		});
}
