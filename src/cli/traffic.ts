import { counted } from "../text/figures.ts";
import {
	Book,
	clearingShadow,
	conversationReport,
	conversationText,
	summaryLine,
	trafficFolder,
	trafficText,
} from "../traffic/index.ts";
import { type Command, FLAG, NOTHING_FOUND, TEXT, UsageError } from "./command.ts";

export const traffic: Command = {
	name: "traffic",
	usage: "[<conversation>] [--since 7d] [--json]",
	details: [
		"",
		"Lists the conversations that went through strata's proxy: what they cost, how much of their prompts came",
		"from the provider's cache, and the last cache miss with its cause. With the number of a conversation, it",
		"shows each request, the first piece that differed at a miss, and which tools and files fill the prompt.",
		"--since takes minutes, hours, days or weeks: 30m, 12h, 7d, 2w. Nothing leaves this machine.",
	],
	options: { since: TEXT, json: FLAG },
	maxArguments: 1,
	async run(options, [word], terminal) {
		const sinceMs = Date.now() - durationOf(String(options.since ?? DEFAULT_SINCE));
		const id = word === undefined ? undefined : numberOf(word);
		const book = await Book.openForReading(trafficFolder(terminal.env));
		try {
			if (id !== undefined) {
				const report = book && conversationReport(book, id);
				if (!report) {
					terminal.printError(`strata traffic: there is no conversation ${id}; see strata traffic`);
					return NOTHING_FOUND;
				}
				const clearing = clearingShadow(book, id);
				const lines = options.json
					? [JSON.stringify({ ...report, ...(clearing && { clearing }) }, null, 2)]
					: [...conversationText(report), ...clearingText(clearing)];
				for (const line of lines) terminal.print(line);
				return 0;
			}
			const conversations = book?.sums({ sinceMs }) ?? [];
			if (options.json) terminal.print(JSON.stringify({ conversations }, null, 2));
			else if (conversations.length === 0) terminal.print(NOTHING);
			else {
				for (const line of trafficText(conversations, Date.now())) terminal.print(line);
				terminal.print("");
				terminal.print(summaryLine(conversations).replace(/: see strata traffic$/, ""));
			}
			return conversations.length === 0 ? NOTHING_FOUND : 0;
		} finally {
			book?.close();
		}
	},
};

/** A line for the report of a conversation; none if nothing would be cleared. */
export function clearingText(shadow: ReturnType<typeof clearingShadow>): string[] {
	if (!shadow || shadow.results === 0) return [];
	const { results, cost, costOfAgent } = shadow;
	const share = ((100 * (costOfAgent - cost)) / costOfAgent).toFixed(1);
	return [
		`Clearing, in shadow: ${counted(results, "result")} would be cleared at the provider, ${share} % of the prompts' cost less, by estimate`,
	];
}

const DEFAULT_SINCE = "7d";
const NOTHING = "No request went through strata's proxy in this time.";

const UNITS: Readonly<Record<string, number>> = {
	m: 60_000,
	h: 3_600_000,
	d: 86_400_000,
	w: 604_800_000,
};

function durationOf(text: string): number {
	const [, count, unit = ""] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
	if (count === undefined) throw new UsageError(`--since ${text}: give a time such as 12h or 7d`);
	return Number(count) * (UNITS[unit] ?? 0);
}

function numberOf(word: string): number {
	if (!/^\d{1,15}$/.test(word))
		throw new UsageError(`"${word}" is not the number of a conversation`);
	return Number(word);
}
