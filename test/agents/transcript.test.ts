import { globSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isRecord } from "../../src/core/property.ts";
import { knownModel, rebuildRequests } from "../../src/economy/replay/index.ts";
import { readSessions } from "../../src/importers/index.ts";
import { drivers } from "../support/agents/drivers.ts";
import { agentPackages, isFetched } from "../support/agents/packages.ts";
import type { StandInRequest } from "../support/stand-in/stand-in.ts";
import { direct } from "./between.ts";
import { session, usualScript } from "./session.ts";

const fetched = agentPackages.filter(isFetched).map(({ name }) => name);
const claude = drivers.filter(({ agent }) => agent === "claude-code" && fetched.includes(agent));

test.each(claude)("$name: its file has each request as it was sent", async (driver) => {
	const { home, standIn } = await session(driver, direct, usualScript);
	const [file = ""] = globSync(join(home.home, ".claude/projects/*/*.jsonl"));
	const [read] = await readSessions(file);
	const steps = read ? [...rebuildRequests(read, knownModel).steps()] : [];
	const sent = standIn.requests.filter(({ isScripted }) => isScripted);
	expect(steps.map(({ blocks }) => blocks.map(({ kind }) => kind))).toEqual(sent.map(kindsSent));
	expect(steps.map(({ billed: { input, read: hit, write } }) => [input, hit, write])).toEqual(
		sent.map(({ usage }) => [usage?.input, usage?.read, usage?.write]),
	);
	expect(steps.flatMap(({ changes }) => [...changes])).toEqual([]);
	expect(steps.every(({ behindMarker }) => behindMarker === 0)).toBe(true);
	expect(
		steps.flatMap(({ blocks }) => blocks).some(({ label }) => /not in the file/.test(label)),
	).toBe(false);
});

/** The kinds of our blocks for a request on the wire: tools, system prompt, then the messages' parts. */
function kindsSent({ body }: StandInRequest): string[] {
	const { messages } = JSON.parse(body.toString("utf8")) as { messages: WireMessage[] };
	return ["tools", "system", ...messages.flatMap(kindsIn)];
}

interface WireMessage {
	readonly role: string;
	readonly content: string | readonly { readonly type: string }[];
	readonly output_config?: unknown;
}

function kindsIn({ role, content, output_config }: WireMessage): string[] {
	const text = TEXT_KINDS[role] ?? "user";
	const parts = typeof content === "string" ? [{ type: "text" }] : content;
	const kinds = parts.map(({ type }) => PART_KINDS[type] ?? text);
	return isRecord(output_config) ? ["note", ...kinds] : kinds;
}

const TEXT_KINDS: Readonly<Record<string, string>> = { assistant: "text", system: "note" };
const PART_KINDS: Readonly<Record<string, string>> = {
	tool_use: "call",
	tool_result: "result",
	thinking: "thinking",
};
