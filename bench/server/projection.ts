/** What a cluster is asked to do. */
export interface Demand {
	readonly sessions: number;
	/** Share of the sessions that are open at a time, from 0 to 1. The others are parked. */
	readonly active: number;
	/** Of each session. */
	readonly promptsPerDay: number;
	/** Default: as measured. */
	readonly eventsPerPrompt?: number;
	readonly servers: number;
}

/** What one thing costs, as measured on running servers. */
export interface UnitCosts {
	readonly baseBytes: number;
	readonly openSessionBytes: number;
	readonly openingMs: number;
	readonly connectionsPerServer: number;
	/** In the database, of a session that nobody uses. */
	readonly sessionBytes: number;
	/** Of each prompt. */
	readonly rows: Readonly<Record<PromptTable, number>>;
	/** Of each row, indexes included. */
	readonly rowBytes: Readonly<Record<PromptTable, number>>;
}

export type PromptTable = "events" | "commands" | "entries";

export interface Projection {
	readonly rowsPerDay: number;
	/** On average over the day: peaks are several times as much. */
	readonly rowsPerSecond: number;
	/** Sessions, entries of one day, and what retention keeps. */
	readonly databaseBytes: number;
	/** Conversations are kept. */
	readonly growthBytesPerDay: number;
	readonly connections: number;
	readonly bytesPerServer: number;
}

/** Events and outcomes are kept for so long. */
export const RETENTION_DAYS = 14;
const SECONDS_PER_DAY = 86_400;

/** Multiplies: it knows no effect of size. */
export function project(demand: Demand, costs: UnitCosts): Projection {
	const { sessions, active, promptsPerDay, servers } = demand;
	const { rowBytes } = costs;
	const rows = { ...costs.rows, events: demand.eventsPerPrompt ?? costs.rows.events };
	const promptsInAll = sessions * promptsPerDay;
	const growthBytesPerDay = promptsInAll * rows.entries * rowBytes.entries;
	const passing = rows.events * rowBytes.events + rows.commands * rowBytes.commands;
	const rowsPerDay = promptsInAll * (rows.events + rows.commands + rows.entries);
	return {
		rowsPerDay,
		rowsPerSecond: rowsPerDay / SECONDS_PER_DAY,
		databaseBytes:
			sessions * costs.sessionBytes + growthBytesPerDay + RETENTION_DAYS * promptsInAll * passing,
		growthBytesPerDay,
		connections: servers * costs.connectionsPerServer,
		bytesPerServer: costs.baseBytes + ((sessions * active) / servers) * costs.openSessionBytes,
	};
}

/** Reads words such as `sessions=100000 active=0.1`. Throws for an unknown or impossible one. */
export function demandFrom(words: string, defaults: Demand): Demand {
	const demand: Record<string, number | undefined> = { ...defaults };
	const names = ["sessions", "active", "promptsPerDay", "eventsPerPrompt", "servers"];
	for (const word of words.split(/[\s,]+/).filter((one) => one !== "")) {
		const [name = "", text = ""] = word.split("=", 2);
		const value = Number(text);
		if (!names.includes(name)) throw new Error(`unknown "${name}"; use ${names.join(", ")}`);
		const isPossible = text !== "" && value >= 0 && (name !== "active" || value <= 1);
		if (!isPossible || (name === "servers" && value < 1)) {
			throw new Error(`${name} cannot be "${text}"`);
		}
		demand[name] = value;
	}
	return demand as unknown as Demand;
}
