import { expect } from "vitest";
import { startServe } from "./serve-process.ts";

/** A message of the server, as far as tests look at it. */
export interface Message {
	type: string;
	success?: boolean;
	error?: string;
	code?: string;
	data?: Record<string, unknown>;
	event?: Record<string, unknown>;
}

/** Has a demo server of its own carry out commands one after the other over stdio, and waits for its orderly end. */
export async function carryOut(
	commands: readonly object[],
	{
		words = [],
		...given
	}: { agentDir: string; words?: string[]; shell?: string; env?: NodeJS.ProcessEnv },
): Promise<{ messages: Message[]; answers: Message[]; err: string }> {
	const server = startServe(["--stdio", "--demo", "always", ...words], given);
	const idOf = (index: number) => `${server.child.pid}-${index}`;
	for (const [index, command] of commands.entries()) {
		const dependsOn = index > 0 && { dependsOn: [idOf(index - 1)] };
		server.child.stdin.write(`${JSON.stringify({ ...command, id: idOf(index), ...dependsOn })}\n`);
	}
	server.child.stdin.end();
	expect((await server.exited).code, server.err()).toBe(0);
	const messages: Message[] = server
		.out()
		.trimEnd()
		.split("\n")
		.map((line) => JSON.parse(line));
	const answers = messages.filter(({ type }) => type === "response");
	return { messages, answers, err: server.err() };
}
