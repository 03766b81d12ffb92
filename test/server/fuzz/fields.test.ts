import type { TSchema } from "typebox";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandTable, commandTypes } from "../../../src/protocol/command-table.ts";
import { EnvelopeFields } from "../../../src/protocol/envelope.ts";
import type { CommandRow } from "../../../src/protocol/index.ts";
import { findFault } from "../../../src/text/find-fault.ts";
import { connectClient } from "../support/ws-client.ts";
import { type HostileServer, startHostileServer } from "./hostile-server.ts";

const MEGABYTE = 2 ** 20;

/** What a field may turn out to be. As JSON, since some of it no program would write. */
const VALUES: readonly string[] = [
	"null",
	"true",
	"0",
	"-1",
	"1.5",
	"1e400",
	"9007199254740993",
	'""',
	'" "',
	'"x"',
	'".."',
	'"../../etc/passwd"',
	'"__proto__"',
	'"constructor"',
	'"\\u0000"',
	'"\\ud800"',
	'"anon:1"',
	`"${"x".repeat(5_000)}"`,
	"[]",
	"[[[[]]]]",
	"[null]",
	`[${Array.from({ length: 300 }, () => '"x"').join()}]`,
	"{}",
	'{"__proto__":{"enabled":true}}',
	'{"value":{"toString":1},"confirmed":"yes"}',
];

let server: HostileServer;
beforeAll(async () => {
	server = await startHostileServer();
});
afterAll(() => server.stop());

// The one that ends the session comes last.
const types = commandTypes.toSorted(
	(a, b) => Number(a === "delete_session") - Number(b === "delete_session"),
);

test("every field of every command may be anything: one answer each, and no word about our insides", {
	tags: "slow",
}, async () => {
	const before = await server.heldBytes();
	const client = await connectClient(server.url);
	const answers = new Map<string, Answer>();
	client.socket.on("message", (data) => {
		const message = JSON.parse(String(data)) as Answer;
		if (message.type !== "response") return;
		expect(answers.has(message.id)).toBe(false);
		answers.set(message.id, message);
	});
	const ask = async (frames: readonly { id: string; json: string }[]) => {
		for (const { json } of frames) client.socket.send(json);
		while (!frames.every(({ id }) => answers.has(id))) await pause();
	};
	await ask([
		{ id: "quiet", json: '{"type":"subscribe","id":"quiet","lifecycle":"none"}' },
		{ id: "made", json: '{"type":"create_session","id":"made","sessionId":"victim"}' },
	]);

	let asked = 0;
	for (const type of types) {
		const row = commandTable[type] as CommandRow;
		const own = Object.entries(row.fields.properties as Record<string, TSchema>);
		const envelope = Object.entries(EnvelopeFields.properties as Record<string, TSchema>);
		const base = { ...(plausible(row.fields) as object), type, sessionId: "victim" };
		for (const [name, schema] of [...own, ...envelope.filter(([key]) => key !== "id")]) {
			const frames = VALUES.map((value) => {
				const id = `${type} ${name} ${++asked}`;
				const { [name]: _, ...rest } = base as Record<string, unknown>;
				const json = `${JSON.stringify({ ...rest, id }).slice(0, -1)},${JSON.stringify(name)}:${value}}`;
				return { id, json, isWrong: findFault(schema, JSON.parse(value)) !== undefined };
			});
			await ask(frames);
			for (const { id, json, isWrong } of frames) {
				const answer = answers.get(id) as Answer;
				expect(answer.command, json).toBe(type);
				if (isWrong)
					expect(answer, json).toMatchObject({ success: false, code: "invalid_command" });
				if (!answer.success) expect(answer.error, json).not.toMatch(INSIDES);
				expect(answer.error ?? "", json).not.toContain(server.process.agentDir);
			}
			answers.clear();
			client.received.length = 0;
		}
	}
	expect(asked).toBeGreaterThan(5_000);
	await server.bystanderGoesOn();
	expect((await server.heldBytes()) - before).toBeLessThan(50 * MEGABYTE);
});

/** What only a program that has lost its way says. */
const INSIDES =
	/Cannot read|is not a function|is not iterable|undefined|\[object|TypeError|\n\s+at |node_modules/;

interface Answer {
	type: string;
	id: string;
	command: string;
	success: boolean;
	error?: string;
}

/** The smallest fields that a command takes. */
function plausible(schema: TSchema): unknown {
	const node = schema as {
		type?: string;
		enum?: unknown[];
		const?: unknown;
		anyOf?: TSchema[];
		properties?: Record<string, TSchema>;
		required?: string[];
		minimum?: number;
	};
	if (node.const !== undefined) return node.const;
	if (node.enum) return node.enum[0];
	if (node.anyOf?.[0]) return plausible(node.anyOf[0]);
	if (node.properties) {
		const required = Object.entries(node.properties).filter(([key]) =>
			node.required?.includes(key),
		);
		return Object.fromEntries(required.map(([key, inner]) => [key, plausible(inner)]));
	}
	if (node.type === "array") return [];
	if (node.type === "boolean") return true;
	return node.type === "integer" ? (node.minimum ?? 0) : "true";
}

function pause(): Promise<void> {
	return new Promise((resolve) => setTimeout(resolve, 2));
}
