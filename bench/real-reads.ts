/**
 * The share of reads in real sessions whose content was still in view. The folder of traces holds session files of Claude Code and pi
 * (`.jsonl`, also `.jsonl.gz`), at any depth. Other files in it are counted and skipped. A quick run has a
 * generated session of pi.
 */
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { isRecord } from "../src/core/property.ts";
import { sessionFile } from "./economy/trace.ts";
import { claudeCodeEvents } from "./real-reads/claude-code.ts";
import { countReads, type ReadCounts } from "./real-reads/count.ts";
import { piEvents } from "./real-reads/pi.ts";
import type { Entry, ReadSession } from "./real-reads/session.ts";
import { type Line, missing, options, report } from "./support.ts";

report(await lines());

async function lines(): Promise<Line[]> {
	const folder = options.quick ? dirname(sessionFile() ?? "") : options.traces;
	if (folder === undefined) return missing("all", "give --traces <folder>") ?? [];
	const files = globSync("**/*.jsonl{,.gz}", { cwd: folder }).sort();
	const sessions = files.map((file) => sessionIn(linesOf(join(folder, file))));
	const others = sessions.filter((session) => !session).length;
	console.log(`${others} of ${files.length} files are of another kind`);
	const found = (["Claude Code", "pi"] as const).flatMap((agent) =>
		agentLines(
			agent,
			sessions.flatMap((session) => (session?.agent === agent ? [countReads(session)] : [])),
		),
	);
	if (found.length > 0) return found;
	return missing("all", `${folder} has no session of Claude Code or pi`) ?? [];
}

/** The session in a file; `undefined` if it is of neither agent. */
function sessionIn(lines: readonly Entry[]): ReadSession | undefined {
	if (lines[0]?.type === "session") return { agent: "pi", events: piEvents(lines) };
	const isClaudes = lines.some(
		({ type, uuid }) => type === "assistant" && typeof uuid === "string",
	);
	return isClaudes ? { agent: "Claude Code", events: claudeCodeEvents(lines) } : undefined;
}

/** Truncated or damaged lines are skipped. */
function linesOf(file: string): Entry[] {
	const bytes = readFileSync(file);
	const text = (file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString();
	return text.split("\n").flatMap((line) => {
		try {
			const value: unknown = JSON.parse(line);
			return isRecord(value) ? [value] : [];
		} catch {
			return []; // the other lines are usable
		}
	});
}

function agentLines(agent: string, counted: readonly ReadCounts[]): Line[] {
	if (counted.length === 0) return [];
	const sum = (key: keyof ReadCounts) => counted.reduce((total, counts) => total + counts[key], 0);
	const share = (
		part: keyof ReadCounts,
		whole: keyof ReadCounts,
	): Pick<Line, "unit" | "value"> => ({
		unit: "%",
		value: (100 * sum(part)) / Math.max(1, sum(whole)),
	});
	const most = counted.filter(({ inViewBytes, readBytes }) => inViewBytes > readBytes / 5);
	return [
		{
			case: `${agent}: read bytes in view, of all read bytes`,
			...share("inViewBytes", "readBytes"),
			from: {
				sessions: counted.length,
				"sessions with more than a fifth": most.length,
				"read bytes": sum("readBytes"),
			},
		},
		{
			case: `${agent}: read bytes in view, of re-read bytes`,
			...share("inViewBytes", "rereadBytes"),
			from: { "in view": sum("inViewBytes"), "re-read bytes": sum("rereadBytes") },
		},
		{
			case: `${agent}: reads wholly in view`,
			...share("whollyInView", "reads"),
			from: { reads: sum("reads") },
		},
		{
			case: `${agent}: bytes of reads wholly in view, of all read bytes`,
			...share("whollyInViewBytes", "readBytes"),
		},
		{ case: `${agent}: reads of a file read before`, ...share("rereads", "reads") },
		{
			case: `${agent}: read bytes, of all results of tools`,
			...share("readBytes", "resultBytes"),
			from: { "result bytes": sum("resultBytes") },
		},
	];
}
