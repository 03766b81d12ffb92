import { describe, expect, test } from "vitest";
import { commandTable, commandTypes } from "../../src/protocol/command-table.ts";
import {
	type Command,
	type CommandType,
	laneOf,
	rowOf,
	sessionOf,
	timeoutOf,
} from "../../src/protocol/index.ts";

/** Pi's RPC commands; `switch_session` is another command here. */
const OF_PI =
	"prompt steer follow_up abort clear_queue new_session get_state set_model cycle_model get_available_models set_thinking_level cycle_thinking_level get_available_thinking_levels set_steering_mode set_follow_up_mode compact set_auto_compaction set_auto_retry abort_retry bash abort_bash get_session_stats export_html fork clone get_fork_messages get_entries get_tree get_last_assistant_text set_session_name get_messages get_commands";

describe("the table of commands", () => {
	test("has every command of pi's RPC, for one session", () => {
		for (const type of OF_PI.split(" ")) expect(rowOf(type)).toMatchObject({ target: "session" });
	});

	test("what is called get, list or code reads, and so do subscriptions, health, reports and dialog answers; all else changes", () => {
		const others =
			"switch_session subscribe unsubscribe health_check replay_session report_progress extension_ui_response";
		for (const type of commandTypes) {
			const isRead = /^(get|list|code)_/.test(type) || others.split(" ").includes(type);
			expect([type, commandTable[type].effect]).toEqual([type, isRead ? "read" : "change"]);
		}
	});

	test("reads of a session and what reaches into a run never queue behind it", () => {
		const control = commandTypes.filter(
			(type) =>
				/^abort|^(steer|follow_up)$/.test(type) ||
				(commandTable[type].target === "session" && commandTable[type].effect === "read"),
		);
		for (const type of control) expect([type, commandTable[type].path]).toEqual([type, "control"]);
		const lane = commandTypes.filter(
			(type) => commandTable[type].effect === "change" && !control.includes(type),
		);
		for (const type of lane) expect([type, commandTable[type].path]).toEqual([type, "lane"]);
		expect(control.length + lane.length).toBeGreaterThan(50);
	});

	test("what may ask the user before it is done is long, or the answer would wait behind it", () => {
		const asking: CommandType[] = [
			"prompt",
			"compact",
			"new_session",
			"switch_session_file",
			"fork",
		];
		for (const type of [...asking, "clone", "navigate_tree", "reload", "bash"] as CommandType[]) {
			expect([type, commandTable[type].timeout]).toEqual([type, "long"]);
		}
	});

	test("only a prompt that waits for its run has no timeout", () => {
		const prompt = { type: "prompt", sessionId: "s", message: "m" } as const;
		expect(timeoutOf(prompt)).toBe("long");
		expect(timeoutOf({ ...prompt, waitFor: "accepted" })).toBe("long");
		expect(timeoutOf({ ...prompt, waitFor: "settled" })).toBe("none");
		expect(timeoutOf({ type: "get_state", sessionId: "s" })).toBe("short");
		expect(commandTypes.filter((type) => rowOf(type)?.timeout === "none")).toEqual([]);
	});

	test("only commands on an open session may ask for a version", () => {
		const server = commandTypes.filter((type) => commandTable[type].target === "server");
		expect(server.filter((type) => commandTable[type].versioned)).toEqual(["delete_session"]);
		for (const type of commandTypes) {
			if (commandTable[type].target === "session") expect(commandTable[type].versioned).toBe(true);
		}
	});

	test.each(["__proto__", "constructor", "toString", "", "nothing"])("has no row %j", (type) => {
		expect(rowOf(type)).toBeUndefined();
	});
});

describe("lanes", () => {
	test.each<[Command, string]>([
		[{ type: "list_sessions" }, "server"],
		[{ type: "create_session" }, "server"],
		[{ type: "create_session", sessionId: "a" }, "session:a"],
		[{ type: "load_session", sessionPath: "/x" }, "server"],
		[{ type: "load_session", sessionPath: "/x", sessionId: "a" }, "session:a"],
		[{ type: "delete_session", sessionId: "a" }, "session:a"],
		[{ type: "switch_session", sessionId: "a" }, "session:a"],
		[{ type: "subscribe", sessionId: "a" }, "session:a"],
		[{ type: "subscribe", lifecycle: "own" }, "server"],
		[{ type: "prompt", sessionId: "server", message: "m" }, "session:server"],
		[{ type: "get_command_history", sessionIdFilter: "a" }, "server"],
	])("%j is on the lane %s", (command, lane) => {
		expect(laneOf(command)).toBe(lane);
	});

	test("a stray sessionId makes nothing a session's", () => {
		const stray = { type: "list_sessions", sessionId: "ghost" } as Command;
		expect([laneOf(stray), sessionOf(stray)]).toEqual(["server", undefined]);
	});
});
