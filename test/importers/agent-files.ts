import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SessionWriter } from "../economy/replay/session-writer.ts";
import { ClaudeWriter } from "./claude-writer.ts";
import { CodexWriter } from "./codex-writer.ts";
import { OpencodeSession, openDatabase } from "./opencode-writer.ts";

/**
 * Writes a small session of every agent to where the agent keeps it below `home`. Returns the files by what they are, the newest first.
 * That of Claude Code has a sub-agent, the database two sessions.
 */
export function writeAgentFiles(home: string, agentDir = join(home, ".pi", "agent")) {
	const folder = (...names: string[]) => {
		const path = join(...names);
		mkdirSync(path, { recursive: true });
		return path;
	};
	const data = folder(home, ".local", "share", "opencode");
	const chats = folder(home, ".gemini", "tmp", "h1", "chats");
	const database = join(data, "opencode.db");
	openDatabase(database, [anOpencodeSession("ses_1"), anOpencodeSession("ses_2")]).close();
	const chat = join(chats, "session-a.json");
	writeFileSync(join(chats, "..", ".project_root"), "/w/of gemini");
	writeFileSync(chat, JSON.stringify(GEMINI_CHAT, null, 2));
	const files = {
		pi: aPiSession().saveTo(join(folder(agentDir, "sessions", "--w-app--"), "a_s1.jsonl")),
		"claude-code": aClaudeSession().save("c1.jsonl", folder(home, ".claude", "projects", "-w-app")),
		codex: aCodexSession().save("rollout-a.jsonl", folder(home, ".codex", "sessions", "2026")),
		"opencode export": anOpencodeSession("ses_3").save("ses_3.json", folder(data, "exports")),
		"opencode database": database,
		"gemini-cli": chat,
	};
	const nowSeconds = Math.floor(Date.now() / 1000);
	for (const [at, file] of Object.values(files).entries()) {
		utimesSync(file, nowSeconds - 60 * at, nowSeconds - 60 * at);
	}
	return files;
}

class PiWriter extends SessionWriter {
	saveTo(file: string): string {
		writeFileSync(file, `${this.lines.join("\n")}\n`);
		return file;
	}
}

function aPiSession(): PiWriter {
	const writer = new PiWriter({ version: 3, id: "s1", cwd: "/w/app" });
	writer.user("rename the store");
	writer.assistant("b", { cacheWrite: 5000 });
	writer.user("c");
	writer.assistant("d", { cacheRead: 5000, cacheWrite: 1000 });
	return writer;
}

/** The provider loses the cache of the third request, and says why. */
function aClaudeSession(): ClaudeWriter {
	const writer = new ClaudeWriter();
	writer.user("say a");
	writer.text("m1", "a", { write: 20_000 });
	writer.user("say b");
	writer.text("m2", "b", { read: 20_000, write: 500 });
	writer.user("say c");
	const diagnostics = { cache_miss_reason: { type: "system_changed" } };
	writer.text("m3", "c", { read: 0, write: 21_000 }, { more: { diagnostics } });
	const { common, leaf } = writer;
	writer.common = { ...common, isSidechain: true, agentId: "explorer" };
	writer.leaf = null;
	writer.user("look around");
	writer.text("m4", "found", { write: 9000 });
	Object.assign(writer, { common, leaf });
	return writer;
}

function aCodexSession(): CodexWriter {
	const writer = new CodexWriter();
	writer.turn().user("say a").assistant("a").count({ input: 9000, cached: 0 });
	return writer.user("say b").assistant("b").count({ input: 9500, cached: 8960 });
}

function anOpencodeSession(id: string): OpencodeSession {
	const session = new OpencodeSession(id);
	session.atMs += Number(id.slice(-1)) * 3_600_000;
	session.user("say a").assistant("a", { input: 3, write: 8000 });
	return session.user("say b").assistant("b", { input: 3, read: 8000, write: 300 });
}

const at = (seconds: number) => new Date(Date.UTC(2026, 6, 1, 8, 0, seconds)).toISOString();

function geminiAnswer(id: string, seconds: number, input: number, cached: number) {
	const tokens = { input, cached, output: 20, thoughts: 5, tool: 0, total: input + 25 };
	return {
		...{ id, type: "gemini", timestamp: at(seconds), content: `answer ${id}` },
		...{ model: "gemini-3.1-pro", tokens },
	};
}

const GEMINI_CHAT = {
	...{ sessionId: "g", projectHash: "h1", startTime: at(0) },
	messages: [
		{ id: "u1", type: "user", timestamp: at(1), content: [{ text: "say a" }] },
		geminiAnswer("g1", 9, 6000, 4000),
		{ id: "u2", type: "user", timestamp: at(20), content: [{ text: "say b" }] },
		geminiAnswer("g2", 29, 6500, 5000),
	],
};
