/** What clients of several servers saw, and what was there at the end. */
export interface History {
	readonly commands: readonly PlayedCommand[];
	readonly events: readonly SeenEvent[];
	/** Lines that commands left in files: the word, the time in ms, and the process of the server. */
	readonly effects: readonly {
		readonly word: string;
		readonly atMs: number;
		readonly pid?: number;
	}[];
	/** When server processes were killed. */
	readonly deaths?: ReadonlyMap<number, number>;
	/** Events in the database, by `principal session seq`. */
	readonly stored: ReadonlyMap<string, string>;
	/** The conversation of each `principal session` at its last owner, as text. */
	readonly conversations: ReadonlyMap<string, string>;
}

export interface PlayedCommand {
	readonly principal: string;
	readonly session: string;
	readonly id: string;
	readonly type: "create_session" | "bash" | "set_session_name";
	/** What a `bash` writes to a file, and prints. */
	readonly word: string;
	readonly sentMs: number;
	readonly answeredMs: number;
	/** A tool that the guard has ended is acknowledged too, with the exit code of a signal. */
	readonly isComplete: boolean;
	/** Every answer that was received for the id, the last one after all was over. */
	readonly answers: readonly SeenAnswer[];
	/** What the client got of a command that failed or has no outcome, for people. */
	readonly lack?: string;
	/** Set for commands that one connection sent without a wait in between. */
	readonly inARow?: { readonly row: string; readonly position: number };
}

export interface SeenAnswer {
	readonly success: boolean;
	readonly code?: string;
	readonly version?: number;
}

export interface SeenEvent {
	readonly principal: string;
	readonly session: string;
	/** A subscription; its numbers have no hole but by a gap. */
	readonly subscription: number;
	readonly seq: number;
	readonly body: string;
}

/** A tool of a dead server may run on for this long. */
const LATE_MS = 1_000;

/** What is wrong, in words. */
export function faultsIn(history: History): string[] {
	return [
		...answerFaults(history),
		...versionFaults(history),
		...orderFaults(history),
		...effectFaults(history),
		...eventFaults(history),
	];
}

/** I1, I10: an acknowledged outcome stays, and every repetition gets it. */
function answerFaults({ commands }: History): string[] {
	return commands.flatMap(({ principal, id, answers, lack }) => {
		const all = new Set(answers.map((answer) => JSON.stringify(answer)));
		const more = lack ? `: ${lack}` : "";
		if (answers.length === 0) return [`I10: ${principal} ${id} never got an outcome${more}`];
		if (all.size === 1) return [];
		return [`I1: ${principal} ${id} was answered ${[...all].join(" and ")}${more}`];
	});
}

/** I3, I5: versions count changes by one each, in the order in which they were acknowledged. */
function versionFaults({ commands }: History): string[] {
	const faults: string[] = [];
	const bySession = Map.groupBy(commands, ({ principal, session }) => `${principal} ${session}`);
	for (const [name, all] of bySession) {
		const done = all
			.flatMap((command) => {
				const version = command.answers.find(({ success }) => success)?.version;
				return version === undefined ? [] : [{ ...command, version }];
			})
			.sort((a, b) => a.version - b.version);
		for (const [index, one] of done.entries()) {
			const next = done[index + 1];
			if (!next) continue;
			if (next.version === one.version) {
				faults.push(`I5: ${name} has version ${one.version} from ${one.id} and ${next.id}`);
			}
			if (next.answeredMs < one.sentMs) {
				faults.push(
					`I5: ${name}: ${next.id} ended before ${one.id} began, but has a later version`,
				);
			}
		}
	}
	return faults;
}

/** I12: commands that a connection sent in a row have versions in their order. */
function orderFaults({ commands }: History): string[] {
	const rows = Map.groupBy(
		commands.filter(({ inARow }) => inARow),
		({ principal, inARow }) => `${principal} ${inARow?.row}`,
	);
	return [...rows].flatMap(([name, row]) => {
		const versions = row
			.toSorted((a, b) => (a.inARow?.position ?? 0) - (b.inARow?.position ?? 0))
			.flatMap(({ answers }) => answers.find(({ success }) => success)?.version ?? []);
		const isOrdered = versions.every(
			(version, at) => at === 0 || version > (versions[at - 1] ?? 0),
		);
		return isOrdered ? [] : [`I12: ${name} got the versions ${versions.join(", ")}`];
	});
}

/** I2, I6, I9: an effect at most once, exactly once if acknowledged, none after the command was given up. */
function effectFaults({ commands, effects, conversations, deaths }: History): string[] {
	const faults = effects.flatMap(({ word, atMs, pid }) => {
		const late = atMs - (deaths?.get(pid ?? 0) ?? atMs);
		return late > LATE_MS ? [`I6: ${word} took effect ${late} ms after its server's death`] : [];
	});
	const byWord = Map.groupBy(effects, ({ word }) => word);
	for (const command of commands.filter(({ type }) => type === "bash")) {
		const { principal, session, id, word, answers, answeredMs, isComplete } = command;
		const lines = byWord.get(word) ?? [];
		const isDone = answers.some(({ success }) => success);
		if (lines.length > 1) faults.push(`I2: ${principal} ${id} took effect ${lines.length} times`);
		if (isComplete && lines.length !== 1) {
			faults.push(`I2: ${principal} ${id} was acknowledged, with ${lines.length} effects`);
		}
		const conversation = conversations.get(`${principal} ${session}`);
		if (conversation === undefined) {
			faults.push(`I10: the conversation of ${principal} ${session} could not be read`);
		} else if (isDone && !conversation.includes(word)) {
			faults.push(`I9: the conversation of ${principal} ${session} lacks ${word}`);
		}
		for (const { atMs } of lines) {
			if (!isDone && atMs > answeredMs + LATE_MS) {
				faults.push(
					`I6: ${principal} ${id} took effect ${Math.round(atMs - answeredMs)} ms after its end`,
				);
			}
		}
	}
	return faults;
}

/** I4, I11: a number stands for one event, for all subscribers and in the journal, and none is skipped. */
function eventFaults({ events, stored }: History): string[] {
	const faults: string[] = [];
	const bodies = new Map<string, string>();
	const lasts = new Map<number, number>();
	for (const { principal, session, subscription, seq, body } of events) {
		const name = `${principal} ${session} ${seq}`;
		const known = bodies.get(name) ?? stored.get(name);
		if (known === undefined) faults.push(`I4: event ${name} was seen, but is not in the journal`);
		else if (known !== body) faults.push(`I4: event ${name} stands for two events`);
		bodies.set(name, body);
		const last = lasts.get(subscription);
		if (last !== undefined && seq !== last + 1) {
			faults.push(`I4: subscription ${subscription} got ${name} after ${last}`);
		}
		lasts.set(subscription, seq);
	}
	return faults;
}
