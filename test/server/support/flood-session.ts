import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sessionLines } from "../../browser/session-lines.ts";

/** The tokens of one principal that floods a server, and of another. */
export const FLOOD_TOKENS = { flood: "flood-token-0123456789", other: "other-token-0123456789" };

const TEXT = "What was said, and what came of it. ".repeat(50);

/** Writes a session file with about so many characters of messages. Returns its path. */
export function writeFloodSession(agentDir: string, cwd: string, characters: number): string {
	const folder = join(agentDir, "sessions", "flood");
	mkdirSync(folder, { recursive: true });
	const count = Math.max(2, Math.round(characters / TEXT.length));
	const said = Array.from({ length: count }, (_, at) => ({
		role: at % 2 === 0 ? ("user" as const) : ("assistant" as const),
		text: `${at}: ${TEXT}`,
	}));
	const timestamp = new Date(0).toISOString();
	const header = { type: "session", version: 3, id: "flood", timestamp, cwd };
	const lines = [header, ...sessionLines(said)].map((line) => `${JSON.stringify(line)}\n`);
	const path = join(folder, "flood.jsonl");
	writeFileSync(path, lines.join(""));
	return path;
}

/** Writes a token file. Returns its path. */
export function writeTokens(folder: string, tokens: Readonly<Record<string, string>>): string {
	const path = join(folder, "tokens");
	const lines = Object.entries(tokens).map(([name, token]) => `${name}:${token}\n`);
	writeFileSync(path, lines.join(""), { mode: 0o600 });
	return path;
}
