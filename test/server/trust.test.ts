import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { tempDir } from "../support/temp.ts";
import { carryOut } from "./support/carry-out.ts";

const ALLOWED = ["--allow-project-trust"];

test("trust that the server takes away loads nothing of a project, and does not come back by itself", {
	tags: "slow",
}, async () => {
	const project = createProject();
	const create = { type: "create_session", sessionId: "t", cwd: project.cwd, trustProject: true };
	const enter = { type: "switch_session_file", sessionId: "t", sessionPath: project.session };
	const state = { type: "get_state", sessionId: "t" };

	const trusting = await project.serve(ALLOWED, [create, enter, state]);
	expect(trusting.answers.at(-1)).toMatchObject({
		success: true,
		data: { projectTrusted: true },
	});
	expect(project.wasLoaded()).toBe(true);

	const careful = await project.serve(
		[],
		[
			{ type: "subscribe", sessionId: "t", after: 0 },
			{ type: "list_sessions" },
			state,
			{ type: "get_skills", sessionId: "t" },
			{ type: "reload", sessionId: "t" },
			{ type: "fork", sessionId: "t", entryId: "aaaaaaaa" },
			{ type: "new_session", sessionId: "t" },
			enter,
			{ type: "switch_session", sessionId: "t" },
			{ type: "create_session", sessionId: "u", cwd: project.cwd },
			{ type: "get_skills", sessionId: "u" },
		],
	);
	for (const answer of careful.answers) expect(answer).toMatchObject({ success: true });
	expect(project.wasLoaded()).toBe(false);
	expect(JSON.stringify(careful.answers)).not.toContain("projectTrusted");
	expect(JSON.stringify(careful.answers)).not.toContain("own-skill");
	expect(careful.messages.filter(({ event }) => event?.notifyType === "warning")).toMatchObject([
		{ event: { method: "notify", message: /no longer trusts its project/ } },
	]);

	const again = await project.serve(ALLOWED, [state, { type: "reload", sessionId: "t" }]);
	expect(again.answers[0]?.data).not.toHaveProperty("projectTrusted");
	expect(project.wasLoaded()).toBe(false);

	const asked = { ...create, sessionId: "v" };
	const asking = await project.serve(ALLOWED, [asked, { ...enter, sessionId: "v" }]);
	expect(asking.answers[0]?.data).toMatchObject({ sessionInfo: { projectTrusted: true } });
	expect(project.wasLoaded()).toBe(true);
});

test("pi's own list of trusted folders is not taken for trust, with or without the flag", {
	tags: "slow",
}, async () => {
	const project = createProject();
	writeFileSync(join(project.agentDir, "trust.json"), JSON.stringify({ [project.cwd]: true }));
	const untrusted = { type: "create_session", sessionId: "t", cwd: project.cwd };
	for (const words of [[], ALLOWED]) {
		const { answers } = await project.serve(words, [
			words.length === 0 ? untrusted : { type: "get_state", sessionId: "t" },
			{ type: "reload", sessionId: "t" },
		]);
		for (const answer of answers) expect(answer).toMatchObject({ success: true });
		expect(project.wasLoaded()).toBe(false);
	}
});

/** A project with an extension that leaves a trace, a skill, and a session of pi in it. */
function createProject() {
	const agentDir = tempDir("agent");
	const cwd = tempDir("project");
	const trace = join(tempDir("trace"), "loaded");
	const write = (path: string, text: string) => {
		mkdirSync(dirname(path), { recursive: true });
		writeFileSync(path, text);
	};
	write(
		join(cwd, ".pi", "extensions", "own.ts"),
		`import { writeFileSync } from "node:fs";
		writeFileSync(${JSON.stringify(trace)}, "");
		export default () => {};`,
	);
	const skill = "---\nname: own-skill\ndescription: Of the project.\n---\nDo it.\n";
	write(join(cwd, ".pi", "skills", "own-skill", "SKILL.md"), skill);
	const session = join(agentDir, "sessions", "project", "2026-01-01_one.jsonl");
	const timestamp = "2026-01-01T00:00:00.000Z";
	const lines = [
		{ type: "session", version: 3, id: "11111111-1111-7111-8111-111111111111", timestamp, cwd },
		{
			...{ type: "message", id: "aaaaaaaa", parentId: null, timestamp },
			message: { role: "user", content: "hello", timestamp: Date.parse(timestamp) },
		},
	];
	write(session, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));

	return {
		agentDir,
		cwd,
		session,
		/** Whether the extension ran since this was last asked. */
		wasLoaded() {
			const was = existsSync(trace);
			rmSync(trace, { force: true });
			return was;
		},
		serve: (words: string[], commands: object[]) => carryOut(commands, { agentDir, words }),
	};
}
