import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { main } from "../../../src/cli/main.ts";
import { createSessionReplay } from "../../../src/server/replay/session-replay.ts";
import { SessionWriter } from "../../economy/replay/session-writer.ts";
import { tempDir } from "../../support/temp.ts";

const never = { principal: "ann", signal: new AbortController().signal };

test("replays a file, and the same as text sent along, under the policies of the command line", {
	tags: "slow",
}, async () => {
	const { replay, tmpFolder } = setUp();
	const file = aSession();
	const ofFile = await replay.ofFile(file, never);
	expect(ofFile).toMatchObject({ file: basename(file), requests: 2 });
	const printed: string[] = [];
	const ignore = () => {};
	await main(["replay", file, "--json"], {
		...{ cwd: tempDir(), env: {}, write: ignore, printError: ignore },
		print: (line) => printed.push(line),
	});
	const { policies } = JSON.parse(printed.join("\n")) as typeof ofFile;
	// The same list as on the command line.
	expect(ofFile.policies).toEqual(policies);
	expect(policies.map(({ name }) => name)).toContain("strata");
	expect(policies.map(({ name }) => name)).not.toContain("tiers");
	const ofContent = await replay.ofContent(readFileSync(file, "utf8"), never);
	expect(ofContent).toEqual({ ...ofFile, file: "content" });
	expect(readdirSync(tmpFolder)).toEqual([]);
});

test("what is no session fails in words without a path of the server", async () => {
	const { replay, tmpFolder } = setUp();
	const failure = await replay.ofContent("nonsense", never).catch((error: Error) => error);
	expect(failure).toMatchObject({ code: "failed", message: expect.stringContaining("content") });
	expect(String(failure)).not.toContain(tmpFolder);
});

test("lets a principal wait for its own replays, and refuses those beyond a bound", {
	tags: "slow",
}, async () => {
	const { replay } = setUp();
	const file = aSession();
	const asked = Array.from({ length: 9 }, () => replay.ofFile(file, never));
	await expect(replay.ofFile(file, never)).rejects.toMatchObject({ code: "busy" });
	const others = { ...never, principal: "ben" };
	expect(await replay.ofFile(file, others)).toMatchObject({ requests: 2 });
	const reports = await Promise.all(asked);
	expect(reports.map(({ requests }) => requests)).toEqual(asked.map(() => 2));
});

test("stops when it is told to", async () => {
	const { replay, tmpFolder } = setUp();
	const controller = new AbortController();
	const content = readFileSync(aSession(), "utf8");
	const running = replay.ofContent(content, {
		principal: "ann",
		signal: controller.signal,
	});
	controller.abort();
	await expect(running).rejects.toMatchObject({
		code: "failed",
		message: "the replay was aborted",
	});
	expect(existsSync(tmpFolder) ? readdirSync(tmpFolder) : []).toEqual([]);
});

function setUp() {
	const agentDir = tempDir();
	const tmpFolder = join(agentDir, "tmp");
	return { replay: createSessionReplay({ agentDir, cwd: agentDir, tmpFolder }), tmpFolder };
}

function aSession(): string {
	const writer = new SessionWriter();
	writer.user("a");
	writer.assistant("b", { cacheWrite: 5000 });
	writer.user("c");
	writer.assistant("d", { cacheRead: 5000, cacheWrite: 1000 });
	return writer.save();
}
