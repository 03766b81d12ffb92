import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { TOOL_MARK as MARK } from "../core/tool-mark.ts";
import { isTakenOut } from "./safeguards.ts";

/**
 * A small process that outlives the server and ends its tools: pi runs commands in process groups of their own,
 * which go on when the server is killed. It reads a pipe from the server. The end of the pipe without a `bye` means
 * that the server is dead. A number is the time in seconds after which the tools end unless another number comes.
 * It ends by itself. Processes are found by a mark in their environment, so whatever a tool starts ends too. A timer
 * that is over may have left its process id to another process, so only a living child of the guard is stopped.
 */
export const GUARD_SCRIPT = `
end() {
	for round in 1 2 3 4 5; do
		found=$(grep -ls "$1" /proc/[0-9]*/environ 2>/dev/null)
		[ -n "$found" ] || return
		for file in $found; do
			pid=\${file#/proc/}
			pid=\${pid%/environ}
			[ "$pid" = "$2" ] || kill -9 "$pid" 2>/dev/null
		done
		[ "$round" = 5 ] || sleep 0.1
	done
}
stop_timer() {
	[ -n "$timer" ] || return
	state= parent=
	read -r name comm state parent rest 2>/dev/null </proc/"$timer"/stat
	[ "$parent" = "$$" ] && [ "$state" != Z ] && kill "$timer" 2>/dev/null
	timer=
}
timer=
while read -r word; do
	stop_timer
	[ "$word" = bye ] && exit
	(sleep "$word" && end "$1" "$2") >/dev/null 2>&1 &
	timer=$!
done
stop_timer
end "$1" "$2"
`;

interface ToolGuard {
	/** Tools end after this time, unless it is set again. */
	setDeadline(ms: number): void;
	/** The server ends as planned. Tools that it has left running go on. */
	dismiss(): void;
}

const NONE: ToolGuard = { setDeadline() {}, dismiss() {} };

/** Without `/proc` (macOS, Windows) there is no guard. */
export function startToolGuard(env: NodeJS.ProcessEnv = process.env): ToolGuard {
	if (!existsSync("/proc/self/environ") || isTakenOut("guard")) return NONE;
	const id = randomUUID();
	const { [MARK]: _, ...clean } = env;
	let child: ChildProcess;
	try {
		child = spawn(
			"/bin/sh",
			["-c", GUARD_SCRIPT, "strata-guard", `${MARK}=${id}`, String(process.pid)],
			{
				env: clean,
				stdio: ["pipe", "ignore", "ignore"],
				detached: true, // a signal to the server's group must not reach it
				cwd: "/",
			},
		);
	} catch {
		return NONE;
	}
	child.on("error", () => {});
	child.stdin?.on("error", () => {});
	child.unref();
	(child.stdin as { unref?(): void } | null)?.unref?.();
	env[MARK] = id;
	const tell = (word: string) => {
		if (child.stdin?.writable) child.stdin.write(`${word}\n`);
	};
	return {
		setDeadline: (ms) => tell((Math.max(ms, 0) / 1_000).toFixed(2)),
		dismiss() {
			tell("bye");
			child.stdin?.end();
			if (env[MARK] === id) delete env[MARK];
		},
	};
}
