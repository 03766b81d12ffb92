import { getOrAdd } from "../core/get-or-add.ts";
import {
	type AgentStatus,
	agentStatus,
	findAgents,
	Manifest,
	probeServer,
	setupFolder,
} from "../setup/index.ts";
import { oneLine } from "../text/one-line.ts";
import { isListening, machineOf, wishOf } from "./agent-wish.ts";
import type { Terminal } from "./command.ts";

/** What every known agent has of ours, and whether that works. */
export async function agentStatuses(terminal: Terminal): Promise<AgentStatus[]> {
	const { cwd, env } = terminal;
	const machine = machineOf(terminal);
	const manifest = await Manifest.load(setupFolder(machine.piFolder)).catch(() => Manifest.empty);
	const probes = new Map<string, ReturnType<typeof probeServer>>();
	// Most agents have the same words: each is started once.
	const probe = (words: readonly string[]) =>
		getOrAdd(probes, words.join("\0"), () => probeServer(words, { cwd, env }));
	const options = { wish: wishOf(terminal), manifest, cwd, env, probe };
	const found = await findAgents(machine);
	return await Promise.all(found.map((one) => agentStatus(one, options)));
}

const STATE_TEXT = {
	...{ absent: "not set up", current: "set up", "by-hand": "set up by hand" },
	...{ outdated: "out of date", removed: "removed since", foreign: "another one has this name" },
};
const KIND_TEXT: Record<string, string> = {
	...{ server: "tools", hook: "hook", package: "extension", plugin: "plugin", value: "setting" },
};

/** One line about an agent: its version, our parts, and what to do. */
export async function agentLine(status: AgentStatus): Promise<string> {
	const { name, title, program, version, parts, addresses, faults } = status;
	const found = version ?? (program === undefined ? "found by its folder" : "version unknown");
	const texts = parts.map(({ kind, state, probed, mode }) => {
		const works = probed?.ok
			? `, started in ${probed.ms} ms`
			: probed
				? `, but ${oneLine(probed.why)}`
				: "";
		const detail = mode === undefined ? works : mode === "shadow" ? ", counts only" : ", shortens";
		return `${KIND_TEXT[kind]} ${STATE_TEXT[state]}${detail}`;
	});
	for (const address of addresses) {
		const isUp = await isListening(address);
		texts.push(isUp ? `proxy at ${address}` : `no proxy runs at ${address}: start strata proxy`);
		if (!isUp) return line("warn", [...texts, ...faults]);
	}
	const isBroken = parts.some(({ probed }) => probed?.ok === false);
	const isStale = parts.some(({ state }) => state === "outdated" || state === "removed");
	const isAbsent = parts.every(({ state }) => state === "absent");
	if (faults.length > 0) return line("warn", [...texts, ...faults.map((fault) => oneLine(fault))]);
	if (isBroken || isStale) return line("warn", [...texts, `run: strata setup ${name}`]);
	if (isAbsent) return line("--  ", [`not set up; run: strata setup ${name}`]);
	return line("ok  ", texts);

	function line(mark: string, notes: readonly string[]): string {
		return `${mark}  ${title.padEnd(14)} ${[found, ...notes].join("; ")}`;
	}
}
