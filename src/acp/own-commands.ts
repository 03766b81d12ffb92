import type { AvailableCommand } from "@agentclientprotocol/sdk";
import type { Client } from "../protocol/client.ts";
import { invalidParams } from "./errors.ts";

/** Commands of pi's terminal that the server has under other names. */
export const ownCommands: AvailableCommand[] = [
	{
		name: "compact",
		description: "Summarize the conversation, so that it takes less of the context",
		input: { hint: "what the summary should stress" },
	},
	{ name: "name", description: "Name the session", input: { hint: "name" } },
];

type Run = (client: Client, sessionId: string, signal: AbortSignal) => Promise<string>;

/** Returns text for the user. `undefined` if the message is not one of these commands. */
export function ownCommand(message: string): Run | undefined {
	const [, word, rest = ""] = /^\/(compact|name)(?:\s+([\s\S]*))?$/.exec(message.trim()) ?? [];
	const words = rest.trim();
	switch (word) {
		case "compact":
			return async (client, sessionId, signal) => {
				const more = words === "" ? {} : { customInstructions: words };
				const { data } = await client.request("compact", { sessionId, ...more }, { signal });
				return `Compacted ${data.tokensBefore} tokens.`;
			};
		case "name":
			return async (client, sessionId, signal) => {
				if (words === "") throw invalidParams("/name needs a name");
				await client.request("set_session_name", { sessionId, name: words }, { signal });
				return `This session is now "${words}".`;
			};
		default:
			return undefined;
	}
}
