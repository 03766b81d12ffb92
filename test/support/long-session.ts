import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { sdk } from "./pi-sdk.ts";

/** A session file of pi with at least so many entries: messages, tool results, labels, several branches. Returns its path. */
export function writeLongSession(
	{ agentDir, cwd }: { agentDir: string; cwd: string },
	entries: number,
): string {
	const folder = join(agentDir, "sessions", "long");
	mkdirSync(folder, { recursive: true });
	const manager = sdk.SessionManager.create(cwd, folder);
	const usage = { input: 900, output: 40, cacheRead: 800, cacheWrite: 100, totalTokens: 1_840 };
	const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
	const answered = {
		role: "assistant",
		api: "anthropic-messages",
		provider: "faux",
		model: "faux-1",
		usage: { ...usage, cost },
	} as const;
	manager.appendModelChange("faux", "faux-1");
	for (let number = 0, count = 1; count < entries; number++, count += 6) {
		const timestamp = 1_700_000_000_000 + number * 1_000;
		const callId = `call-${number}`;
		const call = {
			type: "toolCall",
			id: callId,
			name: "read",
			arguments: { path: "a.ts" },
		} as const;
		const asked = manager.appendMessage({ role: "user", content: `question ${number}`, timestamp });
		manager.appendMessage({ ...answered, content: [call], stopReason: "toolUse", timestamp });
		manager.appendMessage({
			role: "toolResult",
			toolCallId: callId,
			toolName: "read",
			content: [{ type: "text", text: `line ${number}\n`.repeat(8) }],
			isError: false,
			timestamp,
		});
		const text = { type: "text", text: `answer ${number}` } as const;
		manager.appendMessage({ ...answered, content: [text], stopReason: "stop", timestamp });
		manager.appendCustomEntry("numbers", { number });
		manager.appendLabelChange(asked, number % 100 === 0 ? `label ${number}` : undefined);
		if (number % 100 === 99) manager.branch(asked);
	}
	return manager.getSessionFile() as string;
}
