import { existsSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { Check } from "typebox/value";
import { describe, expect, test } from "vitest";
import { findSessions } from "../../../src/importers/index.ts";
import { serverCommands } from "../../../src/protocol/server-commands.ts";
import { SessionFinder } from "../../../src/server/replay/session-finder.ts";
import { writeAgentFiles } from "../../importers/agent-files.ts";
import { atEnd, tempDir } from "../../support/temp.ts";

const ann = { principal: "ann", signal: new AbortController().signal };
const ben = { ...ann, principal: "ben" };
const ALL = { filter: "", limit: 50 };

describe("session files", { tags: "slow" }, () => {
	test("are those of strata replay --find, in its order, without their folders", async () => {
		const { finder, home, env } = setUp();
		const { files, next } = await finder.list(ALL, ann);
		const found = await findSessions(env);
		const shown = ({ agent, project, lastUseMs, bytes }: (typeof found)[number]) => ({
			...{ agent, lastUseMs, bytes },
			...(project !== undefined && { project }),
		});
		expect(files.map(({ fileId: _, name: __, title: ___, ...file }) => file)).toEqual(
			found.map(shown),
		);
		expect(files.map(({ name }) => name)).toEqual(found.map(({ file }) => basename(file)));
		expect(new Set(files.map(({ agent }) => agent)).size).toBe(5);
		expect(next).toBeUndefined();
		expect(JSON.stringify(files)).not.toContain(home);
	});

	test("are found again by their ids, and by nothing else", async () => {
		const { finder, home } = setUp();
		const { files } = await finder.list(ALL, ann);
		const paths = await Promise.all(files.map(({ fileId }) => finder.fileOf(fileId, ann)));
		expect(paths.map((path) => basename(path))).toEqual(files.map(({ name }) => name));
		const secret = join(home, "secret.jsonl");
		writeFileSync(secret, "{}");
		for (const fileId of [secret, "../secret.jsonl", "0".repeat(64), paths[0] ?? "", ""]) {
			await expect(finder.fileOf(fileId, ann)).rejects.toMatchObject({
				code: "not_found",
				message: expect.not.stringContaining(home),
			});
		}
	});

	test("that were written since are found, links and deleted files are not", async () => {
		const { finder, files, home } = setUp();
		const claude = join(home, ".claude", "projects", "-w-app");
		const outside = join(tempDir(), "private.jsonl");
		writeFileSync(outside, "{}");
		symlinkSync(outside, join(claude, "link.jsonl"));
		const { files: listed } = await finder.list(ALL, ann);
		expect(listed.map(({ name }) => name)).not.toContain("link.jsonl");
		rmSync(files.pi);
		const pi = listed.find(({ agent }) => agent === "pi");
		await expect(finder.fileOf(String(pi?.fileId), ann)).rejects.toMatchObject({
			code: "not_found",
		});
	});

	test("of another principal are neither listed nor found, and do not shorten a page", async () => {
		const { finder, agentDir } = setUp({ isHidden: (path) => path.includes("private") });
		const folder = join(agentDir, "sessions", "--private--");
		mkdirSync(folder, { recursive: true });
		const start = Date.now() / 1000;
		for (let at = 0; at < 12; at++) {
			const file = join(folder, `p${at}.jsonl`);
			writeFileSync(file, "{}\n");
			utimesSync(file, start + 60 + at, start + 60 + at);
		}
		const bens = await finder.list({ filter: "", limit: 4 }, ben);
		expect(bens.files).toHaveLength(4);
		expect(bens.files.filter(({ name }) => /^p\d/.test(name))).toEqual([]);
		const anns = await finder.list({ filter: "", limit: 4 }, ann);
		expect(anns.files.map(({ name }) => name)).toEqual(["p11", "p10", "p9", "p8"].map(dotJsonl));
		const [hidden] = anns.files;
		await expect(finder.fileOf(String(hidden?.fileId), ben)).rejects.toMatchObject({
			code: "not_found",
		});
		const rest = await finder.list({ filter: "", limit: 50, after: String(bens.next) }, ben);
		expect(bens.files.length + rest.files.length).toBe(6);
	});

	test("have positions that the protocol accepts, and nothing else is one", async () => {
		const { finder } = setUp();
		const { next } = await finder.list({ filter: "", limit: 1 }, ann);
		const accepts = (after: unknown) =>
			Check(serverCommands.list_agent_sessions.fields, { type: "list_agent_sessions", after });
		expect(accepts(next)).toBe(true);
		const id = "a".repeat(64);
		for (const ms of ["0", "-1.5", "1e+21"]) expect(accepts(`${ms}:${id}`)).toBe(true);
		for (const after of ["abc", "1:a", id, `:${id}`, `-:${id}`, `NaN:${id}`, `${next} `]) {
			expect(accepts(after)).toBe(false);
		}
	});

	test("are listed for others when a client has left", async () => {
		const { finder } = setUp();
		const controller = new AbortController();
		const left = finder.list(ALL, { principal: "ann", signal: controller.signal });
		const stays = finder.list(ALL, ben);
		controller.abort();
		await expect(left).rejects.toMatchObject({ code: "failed" });
		expect((await stays).files.length).toBe(6);
	});
});

function dotJsonl(name: string): string {
	return `${name}.jsonl`;
}

/** Hidden files are those of `ann`. */
function setUp({ isHidden = (_path: string): boolean => false } = {}) {
	const home = tempDir();
	const agentDir = join(home, "agent");
	const files = writeAgentFiles(home, agentDir);
	const env = { HOME: home, PI_CODING_AGENT_DIR: agentDir };
	const finder = new SessionFinder({
		agentDir,
		env: { HOME: home },
		async storedFile(principal, path) {
			const exists = existsSync(path);
			return exists && (principal === "ann" || !isHidden(path)) ? { path } : undefined;
		},
	});
	atEnd(() => finder.close());
	return { finder, home, agentDir, env, files };
}
